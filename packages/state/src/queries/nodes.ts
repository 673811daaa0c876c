/** get, exists, children and what is below a node. */

import { pathProblem, type Answer, type NodeTraits, type Query } from '@holdfast/protocol';

import type { NodeSlot } from '../tree/node-slot.ts';
import { errorReply, missingNodeReply, quoted } from '../replies.ts';
import type { State } from '../state.ts';
import { utf8Length } from '../text.ts';
import { NAME_OVERHEAD_BYTES } from './child-lists.ts';
import { pageSize } from './page.ts';

export function get(state: State, path: string): Answer {
  const node = state.nodes.find(path);
  if (node === undefined) return missingNodeReply(path, state.limits.maxPathLength);
  const traits = traitsOf(state, node);
  const answer = { type: 'get', data: state.nodes.data(node), stat: state.nodes.stat(node) } as const;
  return traits === undefined ? answer : { ...answer, traits };
}

/** Undefined for a node that has none. */
function traitsOf({ nodes }: State, node: NodeSlot): NodeTraits | undefined {
  const lifetime = nodes.lifetime(node);
  const noData = !nodes.hasData(node);
  if (lifetime === undefined && !noData) return undefined;
  const container = lifetime?.type === 'container';
  return { noData, container, ttlMs: lifetime?.type === 'ttl' ? lifetime.ttlMs : 0 };
}

export function exists(state: State, path: string): Answer {
  const node = state.nodes.find(path);
  if (node !== undefined) return { type: 'exists', stat: state.nodes.stat(node) };
  const { maxPathLength } = state.limits;
  return pathProblem(path, false, maxPathLength) === undefined
    ? { type: 'exists', stat: undefined }
    : missingNodeReply(path, maxPathLength);
}

export function children(state: State, path: string): Answer {
  const { nodes, limits } = state;
  const node = nodes.find(path);
  if (node === undefined) return missingNodeReply(path, limits.maxPathLength);
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

/** As many names as the page may have, and one answer can carry. */
export function childrenPage(state: State, query: Extract<Query, { type: 'childrenPage' }>): Answer {
  const { nodes, limits } = state;
  const node = nodes.find(query.path);
  if (node === undefined) return missingNodeReply(query.path, limits.maxPathLength);
  const { keys, more } = state.pages.page(node, query.after, pageSize(query.limit));
  const names: string[] = [];
  let bytes = 0;
  for (const name of keys) {
    bytes += utf8Length(name) + NAME_OVERHEAD_BYTES;
    if (bytes > limits.maxChildrenBytes) break;
    names.push(name);
  }
  return { type: 'childrenPage', names, more: more || names.length < keys.length, stat: nodes.stat(node) };
}

export function descendants(state: State, path: string): Answer {
  const { nodes, limits } = state;
  const node = nodes.find(path);
  if (node === undefined) return missingNodeReply(path, limits.maxPathLength);
  // Of the whole tree it is known.
  const count = node === nodes.root ? nodes.size - 1 : state.descendants.of(node);
  return { type: 'descendants', count };
}
