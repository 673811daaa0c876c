/** get, exists and children. */

import { pathProblem, type Answer } from '@holdfast/protocol';

import { errorReply, missingNodeReply, quoted } from '../replies.ts';
import type { State } from '../state.ts';
import { NAME_OVERHEAD_BYTES } from './child-lists.ts';

export function get(state: State, path: string): Answer {
  const node = state.nodes.find(path);
  if (node === undefined) return missingNodeReply(path);
  return { type: 'get', data: state.nodes.data(node), stat: state.nodes.stat(node) };
}

export function exists(state: State, path: string): Answer {
  const node = state.nodes.find(path);
  if (node !== undefined) return { type: 'exists', stat: state.nodes.stat(node) };
  return pathProblem(path) === undefined ? { type: 'exists', stat: undefined } : missingNodeReply(path);
}

export function children(state: State, path: string): Answer {
  const { nodes, limits } = state;
  const node = nodes.find(path);
  if (node === undefined) return missingNodeReply(path);
  const count = nodes.childCount(node);
  // Each name takes a byte at least: no need to gather the names of a node with too many.
  if (count * (NAME_OVERHEAD_BYTES + 1) <= limits.maxChildrenBytes) {
    const { names, bytes } = state.lists.of(node);
    if (bytes <= limits.maxChildrenBytes) return { type: 'children', names, stat: nodes.stat(node) };
  }
  return errorReply(
    'LIMIT_EXCEEDED',
    `the names of the ${count} children of ${quoted(path)} are too many for one answer`,
  );
}
