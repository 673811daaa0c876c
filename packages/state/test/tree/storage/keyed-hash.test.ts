import { describe, expect, it } from 'vitest';

import { StateDigest } from '../../../src/state-digest.ts';
import { Capture } from '../../../src/snapshot/capture.ts';
import { hashOfChild, type HashKey } from '../../../src/tree/storage/keyed-hash.ts';
import { RowNodeStore } from '../../../src/tree/row-node-store.ts';
import { whole } from '../../../src/tree/storage/stored-name.ts';

const KNOWN: HashKey = { low: 0, high: 0 };
const OTHERS: readonly HashKey[] = [
  { low: 1, high: 0 },
  { low: 0, high: 1 },
  { low: 0xffff_ffff, high: 0xffff_ffff },
  { low: 0x1234_5678, high: 0x9abc_def0 },
];
const ROOT = 0;
/** As many as a table of so many places takes before it grows, nearly. */
const NAMES = 300;
const PLACES = 512;

const hash = (key: HashKey, name: string, parent = ROOT): number => hashOfChild(key, parent, whole(name));

/** Names that all begin their search at one place, for who knows the key. */
function colliding(key: HashKey): string[] {
  const names: string[] = [];
  for (let at = 0; names.length < NAMES; at += 1) {
    const name = `hostile-${at}`;
    if (hash(key, name) % PLACES === 0) names.push(name);
  }
  return names;
}

/** How many places the longest search looks at, as the children's table searches: one place after the other, to a free one. */
function longestSearch(key: HashKey, names: readonly string[]): number {
  const taken = new Set<number>();
  let longest = 0;
  for (const name of names) {
    const first = hash(key, name) % PLACES;
    let steps = 1;
    while (taken.has((first + steps - 1) % PLACES)) steps += 1;
    taken.add((first + steps - 1) % PLACES);
    longest = Math.max(longest, steps);
  }
  return longest;
}

describe('names that were chosen to collide under one key', () => {
  const names = colliding(KNOWN);

  it('make its searches as long as they are many', () => {
    expect(longestSearch(KNOWN, names)).toBe(NAMES);
  });

  it('are searched as fast as any under another key', () => {
    const harmless = Array.from({ length: NAMES }, (_, at) => `node-${at}`);
    for (const key of OTHERS) {
      expect(longestSearch(key, harmless)).toBeLessThan(NAMES / 5);
      expect(longestSearch(key, names)).toBeLessThan(NAMES / 5);
    }
  });

  it('are found, listed and digested alike under every key', () => {
    const seen = [KNOWN, ...OTHERS].map((key) => {
      const digest = new StateDigest();
      const store = new RowNodeStore(digest, new Capture(), key);
      const add = (name: string, index: number): unknown =>
        store.create({ parent: store.root, name, data: new Uint8Array(), ephemeralOwner: 0, index, stamp: 0 });
      names.forEach((name, at) => add(name, at + 1));
      names.forEach((name, at) => {
        const node = store.child(store.root, name);
        if (at % 3 === 0 && node !== undefined) store.remove(node, NAMES + at);
      });
      const found = names.map((name) => store.child(store.root, name));
      return { found, listed: store.childNames(store.root), free: store.freeSlots(), digest: digest.value };
    });
    expect(seen[0]?.listed).toEqual(names.filter((_, at) => at % 3 !== 0).toSorted());
    for (const other of seen) expect(other).toEqual(seen[0]);
  });
});

/** HalfSipHash with one round a word and three at the end, by the book: Aumasson and Bernstein, with 32-bit words. */
function halfSipHash({ low, high }: HashKey, words: readonly number[]): number {
  const rotated = (word: number, bits: number): number => ((word << bits) | (word >>> (32 - bits))) >>> 0;
  const sum = (left: number, right: number): number => (left + right) >>> 0;
  let [a, b, c, d] = [low >>> 0, high >>> 0, (0x6c796765 ^ low) >>> 0, (0x74656462 ^ high) >>> 0];
  const round = (): void => {
    a = sum(a, b);
    b = (rotated(b, 5) ^ a) >>> 0;
    a = rotated(a, 16);
    c = sum(c, d);
    d = (rotated(d, 8) ^ c) >>> 0;
    a = sum(a, d);
    d = (rotated(d, 7) ^ a) >>> 0;
    c = sum(c, b);
    b = (rotated(b, 13) ^ c) >>> 0;
    c = rotated(c, 16);
  };
  for (const word of words) {
    d = (d ^ word) >>> 0;
    round();
    a = (a ^ word) >>> 0;
  }
  c = (c ^ 0xff) >>> 0;
  for (let at = 0; at < 3; at += 1) round();
  return (b ^ d) >>> 0;
}

describe('the hash of a child', () => {
  it('is HalfSipHash over the parent, the length and the units of the name, two in a word', () => {
    for (const key of [KNOWN, ...OTHERS]) {
      for (const name of ['', 'a', 'ab', 'abc', 'lock-0000000042', '\u6100\u0061\ud83d\ude00']) {
        for (const parent of [0, 1, 0x7fff_ffff]) {
          const units = Array.from({ length: name.length }, (_, at) => name.charCodeAt(at));
          const pairs = units.flatMap((unit, at) => (at % 2 === 0 ? [unit | ((units[at + 1] ?? 0) << 16)] : []));
          expect(hash(key, name, parent)).toBe(halfSipHash(key, [parent, units.length, ...pairs]));
        }
      }
    }
  });

  it('is of the parent and of every unit of the name, and of nothing else of the path', () => {
    const [key = KNOWN] = OTHERS;
    const names = ['', 'a', 'ab', 'ba', 'a\u0000', '\u0000a', 'a\u0000\u0000', '\u6100', '\u0061\u0100', 'abc', 'abd'];
    const hashes = names.flatMap((name) => [hash(key, name, 1), hash(key, name, 2)]);
    expect(new Set(hashes).size).toBe(2 * names.length);
    expect(hashOfChild(key, 1, { text: '/x/ab/y', from: 3, to: 5 })).toBe(hash(key, 'ab', 1));
  });
});
