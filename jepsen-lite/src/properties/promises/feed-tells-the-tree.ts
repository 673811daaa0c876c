/** What the change feed tells of each entry, replayed on a tree that began empty, makes the tree: every node, and what of its stat may change. */

import { LOCKS_PATH, parentPath, RESERVED_PATH } from '@holdfast/protocol';

import { difference } from '../observation/difference.ts';
import type { ToldChange } from '../observation/step.ts';
import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

interface ToldNode {
  readonly czxid: number;
  mzxid: number;
  pzxid: number;
  version: number;
  cversion: number;
  numChildren: number;
}

export function feedTellsTheTree(): StatePromise {
  const tree = new Map<string, ToldNode>([
    ['/', { ...newNode(0), cversion: 1, numChildren: 1 }],
    [RESERVED_PATH, { ...newNode(0), cversion: 1, numChildren: 1 }],
    [LOCKS_PATH, newNode(0)],
  ]);
  return {
    name: 'the change feed tells every change of a node, in order',
    observe({ index, nodeChanges, after }) {
      for (const [position, change] of nodeChanges.entries()) {
        demand(change.index === index, () => `${describe(change)} was told of index ${change.index} at ${index}`);
        replay(tree, change, nodeChanges[position - 1]);
      }
      for (const [path, node] of tree) {
        const stat = after.nodes.get(path)?.stat;
        const { czxid, mzxid, pzxid, version, cversion, numChildren } = stat ?? newNode(-1);
        const wrong = difference({ czxid, mzxid, pzxid, version, cversion, numChildren }, node);
        demand(wrong === undefined, () => `${path}, as it was told:${wrong}`);
      }
      const untold = [...after.nodes.keys()].find((path) => !tree.has(path));
      demand(untold === undefined, () => `of ${untold} nothing was told`);
    },
  };
}

function replay(tree: Map<string, ToldNode>, change: ToldChange, before: ToldChange | undefined): void {
  const { kind, path, index } = change;
  const node = tree.get(path);
  if (kind === 'created') {
    demand(node === undefined, () => `${describe(change)} was told of a node that is there`);
    tree.set(path, newNode(index));
    return;
  }
  demand(node !== undefined, () => `${describe(change)} was told of no node`);
  switch (kind) {
    case 'data':
      node.version += 1;
      node.mzxid = index;
      break;
    case 'granted':
      node.mzxid = index;
      break;
    case 'deleted':
      demand(node.numChildren === 0, () => `${describe(change)} was told before its children were`);
      tree.delete(path);
      break;
    case 'children': {
      const more = before?.kind === 'created' ? 1 : -1;
      const child = before?.kind === 'created' || before?.kind === 'deleted' ? before.path : '';
      demand(
        child !== '' && parentPath(child) === path,
        () => `${describe(change)} was told without a child that came or went just before`,
      );
      node.cversion += 1;
      node.pzxid = index;
      node.numChildren += more;
    }
  }
}

function newNode(index: number): ToldNode {
  return { czxid: index, mzxid: index, pzxid: index, version: 0, cversion: 0, numChildren: 0 };
}

function describe({ kind, path }: ToldChange): string {
  return `"${kind}" of ${path}`;
}
