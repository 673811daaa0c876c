/** What the change feed tells of each entry, replayed on a tree that began empty, makes the tree: every node, and what of its stat may change. */

import { LOCKS_PATH, parentPath, RESERVED_PATH } from '@holdfast/protocol';

import { difference } from '../observation/difference.ts';
import type { ReportedChange } from '../observation/step.ts';
import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

interface ReportedNode {
  readonly czxid: number;
  mzxid: number;
  pzxid: number;
  version: number;
  cversion: number;
  numChildren: number;
}

export function feedReportsTheTree(): StatePromise {
  const tree = new Map<string, ReportedNode>([
    ['/', { ...newNode(0), cversion: 1, numChildren: 1 }],
    [RESERVED_PATH, { ...newNode(0), cversion: 1, numChildren: 1 }],
    [LOCKS_PATH, newNode(0)],
  ]);
  return {
    name: 'the change feed notifies of every change of a node, in order',
    observe({ index, nodeChanges, after }) {
      for (const [position, change] of nodeChanges.entries()) {
        demand(change.index === index, () => `${describe(change)} was reported for index ${change.index} at ${index}`);
        replay(tree, change, nodeChanges[position - 1]);
      }
      for (const [path, node] of tree) {
        const stat = after.nodes.get(path)?.stat;
        const { czxid, mzxid, pzxid, version, cversion, numChildren } = stat ?? newNode(-1);
        const wrong = difference({ czxid, mzxid, pzxid, version, cversion, numChildren }, node);
        demand(wrong === undefined, () => `${path}, as it was reported:${wrong}`);
      }
      const unreported = [...after.nodes.keys()].find((path) => !tree.has(path));
      demand(unreported === undefined, () => `of ${unreported} nothing was reported`);
    },
  };
}

function replay(tree: Map<string, ReportedNode>, change: ReportedChange, before: ReportedChange | undefined): void {
  const { kind, path, index } = change;
  const node = tree.get(path);
  if (kind === 'created') {
    demand(node === undefined, () => `${describe(change)} was reported of a node that is there`);
    tree.set(path, newNode(index));
    return;
  }
  demand(node !== undefined, () => `${describe(change)} was reported of no node`);
  switch (kind) {
    case 'data':
      node.version += 1;
      node.mzxid = index;
      break;
    case 'granted':
      node.mzxid = index;
      break;
    case 'deleted':
      demand(node.numChildren === 0, () => `${describe(change)} was reported before its children were`);
      tree.delete(path);
      break;
    case 'children': {
      const more = before?.kind === 'created' ? 1 : -1;
      const child = before?.kind === 'created' || before?.kind === 'deleted' ? before.path : '';
      demand(
        child !== '' && parentPath(child) === path,
        () => `${describe(change)} was reported without a child that came or went just before`,
      );
      node.cversion += 1;
      node.pzxid = index;
      node.numChildren += more;
    }
  }
}

function newNode(index: number): ReportedNode {
  return { czxid: index, mzxid: index, pzxid: index, version: 0, cversion: 0, numChildren: 0 };
}

function describe({ kind, path }: ReportedChange): string {
  return `"${kind}" of ${path}`;
}
