/** What every NodeStore must do, as one suite over a list of implementations: commands rely on nothing else. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { StateDigest } from '../../src/state-digest.ts';
import { InvariantError } from '../../src/invariant.ts';
import { RowNodeStore } from '../../src/tree/row-node-store.ts';
import type { NodeSlot, NodeStore } from '../../src/tree/node-store.ts';
import { Capture } from '../../src/snapshot/capture.ts';
import { bytes } from '../support/solo.ts';

const implementations: [string, (digest: StateDigest) => NodeStore][] = [
  ['rows', (digest) => new RowNodeStore(digest, new Capture(), { low: 1, high: 2 })],
];

function add(store: NodeStore, parent: NodeSlot, name: string, index: number, data = '', ephemeralOwner = 0): NodeSlot {
  return store.create({ parent, name, data: bytes(data), ephemeralOwner, index, stamp: index * 10 });
}

describe.each(implementations)('a node store of %s', (_, open) => {
  it('begins with the root alone', () => {
    const store = open(new StateDigest());
    expect([store.size, store.dataBytes, store.find('/'), store.childNames(store.root)]).toEqual([
      1,
      0,
      store.root,
      [],
    ]);
  });

  it('finds nodes by path and by parent and name, and nothing at what is no path', () => {
    const store = open(new StateDigest());
    const a = add(store, store.root, 'a', 1);
    const b = add(store, a, 'b', 2);
    expect([store.find('/a'), store.find('/a/b'), store.child(a, 'b')]).toEqual([a, b, b]);
    for (const path of ['', 'a', '//', '/a/', '/a//b', '/b', '/a/b/c', 'a/b', '//a', 'xa', 'xa/b']) {
      expect(store.find(path), path).toBeUndefined();
    }
    expect([store.name(b), store.parent(b), store.czxid(b), store.ctime(b)]).toEqual(['b', a, 2, 20]);
  });

  it('gives a slot that was free to the next node, without anything of the old one', () => {
    const store = open(new StateDigest());
    const old = add(store, store.root, 'old', 1, 'data', 9);
    store.setData(old, bytes('more data'), 2, 20);
    store.remove(old, 3);
    const next = add(store, store.root, 'next', 4);
    expect(store.stat(next)).toMatchObject({ czxid: 4, version: 0, ephemeralOwner: 0, dataLength: 0 });
    expect([store.size, store.dataBytes, store.creations(store.root)]).toEqual([2, 0, 2]);
  });

  it('refuses what would break the tree', () => {
    const store = open(new StateDigest());
    const a = add(store, store.root, 'a', 1);
    const e = add(store, a, 'e', 2, '', 7);
    expect(() => add(store, e, 'child', 3)).toThrow(InvariantError);
    expect(() => add(store, a, 'e', 3)).toThrow(InvariantError);
    expect(() => store.remove(a, 3)).toThrow(InvariantError);
    expect(() => store.remove(store.root, 3)).toThrow(InvariantError);
    store.remove(e, 3);
    expect(() => store.data(e)).toThrow(InvariantError);
  });

  it('mixes every change into the digest', () => {
    const digest = new StateDigest();
    const store = open(digest);
    const seen = [digest.value];
    const a = add(store, store.root, 'a', 1);
    seen.push(digest.value);
    store.setData(a, bytes('x'), 2, 20);
    seen.push(digest.value);
    store.markGranted(a, 3);
    seen.push(digest.value);
    store.remove(a, 4);
    seen.push(digest.value);
    expect(new Set(seen).size).toBe(5);
  });

  it('gives data that later changes leave alone', () => {
    const store = open(new StateDigest());
    const a = add(store, store.root, 'a', 1, 'first');
    const given = store.data(a);
    store.setData(a, bytes('other'), 2, 20);
    expect([given, store.data(a)]).toEqual([bytes('first'), bytes('other')]);
    const mine = bytes('mine!');
    store.setData(a, mine, 3, 30);
    mine.fill(0);
    store.data(a).fill(0);
    expect(store.data(a)).toEqual(bytes('mine!'));
  });

  it('keeps data of every length, and the name beside it', () => {
    const store = open(new StateDigest());
    const a = add(store, store.root, 'a', 1);
    const b = add(store, store.root, 'b', 2, 'b');
    for (const [at, length] of [0, 1, 15, 16, 17, 1_000, 1_023, 1_024, 1_025, 100_000, 3, 0].entries()) {
      const data = bytes('x'.repeat(length));
      store.setData(a, data, 3 + at, 30);
      expect([store.data(a), store.dataLength(a), store.dataBytes]).toEqual([data, length, length + 1]);
      expect([store.name(a), store.find('/a'), store.data(b)]).toEqual(['a', a, bytes('b')]);
    }
  });

  it('keeps names as they are: of any character, any length, and those that differ in little apart', () => {
    const store = open(new StateDigest());
    const names = [
      'é',
      'ÿ',
      'Ā',
      '\u0100\u00e9',
      '名前',
      '\u{1f512}',
      '\ud83d',
      'a\0b',
      'n',
      'n\0',
      '\u016e',
      'x'.repeat(3_000),
    ];
    names.push(`${'x'.repeat(2_999)}名`);
    const slots = names.map((name, at) => add(store, store.root, name, at + 1, `data ${at}`));
    for (const [at, name] of names.entries()) {
      const slot = store.child(store.root, name);
      expect(slot, name).toBe(slots[at]);
      if (slot !== undefined) expect([store.name(slot), store.data(slot)]).toEqual([name, bytes(`data ${at}`)]);
    }
    expect(store.childNames(store.root)).toEqual([...names].sort());
    expect(store.find('/nn')).toBeUndefined();
  });

  it('finds each of many, while they come and when every other one has gone', () => {
    const store = open(new StateDigest());
    const parents = ['a', 'b', 'c'].map((name, at) => add(store, store.root, name, at + 1));
    const slots = Array.from({ length: 3_000 }, (_, n) => {
      const slot = add(store, parents[n % 3] ?? store.root, `n${Math.floor(n / 3)}`, n + 4);
      expect(store.find(`/${'abc'[n % 3]}/n${Math.floor(n / 3)}`)).toBe(slot);
      return slot;
    });
    for (let n = 0; n < slots.length; n += 2) store.remove(slots[n] ?? store.root, 4_000 + n);
    for (const [n, slot] of slots.entries()) {
      expect(store.find(`/${'abc'[n % 3]}/n${Math.floor(n / 3)}`)).toBe(n % 2 === 0 ? undefined : slot);
    }
    expect(parents.map((parent) => store.childCount(parent))).toEqual([500, 500, 500]);
    expect(store.size).toBe(1_504);
  });

  it('agrees with a plain model of paths', () => {
    const path = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 });
    const change = fc.record({ kind: fc.constantFrom('create', 'create', 'set', 'remove'), path, data: fc.string() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const store = open(new StateDigest());
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
