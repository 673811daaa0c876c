/** What every NodeStore must do, as one suite over a list of implementations: commands rely on nothing else. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Fold } from '../../src/fold.ts';
import { InvariantError } from '../../src/invariant.ts';
import type { NodeSlot, NodeStore } from '../../src/tree/node-store.ts';
import { Capture } from '../../src/snapshot/capture.ts';
import { RecordNodeStore } from '../../src/tree/record-node-store.ts';
import { bytes } from '../support/solo.ts';

const implementations: [string, (fold: Fold) => NodeStore][] = [
  ['records', (fold) => new RecordNodeStore(fold, new Capture())],
];

function add(store: NodeStore, parent: NodeSlot, name: string, index: number, data = '', ephemeralOwner = 0): NodeSlot {
  return store.create({ parent, name, data: bytes(data), ephemeralOwner, index, stamp: index * 10 });
}

describe.each(implementations)('a node store of %s', (_, open) => {
  it('begins with the root alone', () => {
    const store = open(new Fold());
    expect([store.size, store.dataBytes, store.find('/'), store.childNames(store.root)]).toEqual([
      1,
      0,
      store.root,
      [],
    ]);
  });

  it('finds nodes by path and by parent and name, and nothing at what is no path', () => {
    const store = open(new Fold());
    const a = add(store, store.root, 'a', 1);
    const b = add(store, a, 'b', 2);
    expect([store.find('/a'), store.find('/a/b'), store.child(a, 'b')]).toEqual([a, b, b]);
    for (const path of ['', 'a', '//', '/a/', '/a//b', '/b', '/a/b/c', 'a/b', '//a']) {
      expect(store.find(path), path).toBeUndefined();
    }
    expect([store.name(b), store.parent(b), store.czxid(b), store.ctime(b)]).toEqual(['b', a, 2, 20]);
  });

  it('gives a slot that was free to the next node, without anything of the old one', () => {
    const store = open(new Fold());
    const old = add(store, store.root, 'old', 1, 'data', 9);
    store.setData(old, bytes('more data'), 2, 20);
    store.remove(old, 3);
    const next = add(store, store.root, 'next', 4);
    expect(store.stat(next)).toMatchObject({ czxid: 4, version: 0, ephemeralOwner: 0, dataLength: 0 });
    expect([store.size, store.dataBytes, store.creations(store.root)]).toEqual([2, 0, 2]);
  });

  it('refuses what would break the tree', () => {
    const store = open(new Fold());
    const a = add(store, store.root, 'a', 1);
    const e = add(store, a, 'e', 2, '', 7);
    expect(() => add(store, e, 'child', 3)).toThrow(InvariantError);
    expect(() => add(store, a, 'e', 3)).toThrow(InvariantError);
    expect(() => store.remove(a, 3)).toThrow(InvariantError);
    expect(() => store.remove(store.root, 3)).toThrow(InvariantError);
    store.remove(e, 3);
    expect(() => store.data(e)).toThrow(InvariantError);
  });

  it('mixes every change into the fold', () => {
    const fold = new Fold();
    const store = open(fold);
    const seen = [fold.value];
    const a = add(store, store.root, 'a', 1);
    seen.push(fold.value);
    store.setData(a, bytes('x'), 2, 20);
    seen.push(fold.value);
    store.markGranted(a, 3);
    seen.push(fold.value);
    store.remove(a, 4);
    seen.push(fold.value);
    expect(new Set(seen).size).toBe(5);
  });

  it('agrees with a plain model of paths', () => {
    const path = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 });
    const change = fc.record({ kind: fc.constantFrom('create', 'create', 'set', 'remove'), path, data: fc.string() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const store = open(new Fold());
        const model = new Map<string, string>([['/', '']]);
        for (const [position, { kind, path: components, data }] of changes.entries()) {
          const index = position + 1;
          const full = `/${components.join('/')}`;
          const parent = components.length === 1 ? '/' : `/${components.slice(0, -1).join('/')}`;
          const node = store.find(full);
          expect(node !== undefined).toBe(model.has(full));
          if (kind === 'create' && node === undefined && model.has(parent)) {
            add(store, store.find(parent) ?? store.root, components.at(-1) ?? '', index, data);
            model.set(full, data);
          } else if (kind === 'set' && node !== undefined) {
            store.setData(node, bytes(data), index, index);
            model.set(full, data);
          } else if (kind === 'remove' && node !== undefined && store.childCount(node) === 0) {
            store.remove(node, index);
            model.delete(full);
          }
        }
        expect(store.size).toBe(model.size);
        expect(store.dataBytes).toBe([...model.values()].reduce((sum, data) => sum + bytes(data).length, 0));
        for (const [full, data] of model) {
          const node = store.find(full) ?? store.root;
          expect(store.data(node)).toEqual(bytes(data));
          const prefix = full === '/' ? '/' : `${full}/`;
          const children = [...model.keys()].filter(
            (other) => other !== '/' && other.startsWith(prefix) && !other.slice(prefix.length).includes('/'),
          );
          expect(store.childNames(node)).toEqual(children.map((child) => child.slice(prefix.length)).sort());
        }
      }),
      { numRuns: 300 },
    );
  });
});
