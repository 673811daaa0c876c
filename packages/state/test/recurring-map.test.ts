import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RecurringMap } from '../src/recurring-map.ts';
import { INDEX_SLICE_KEYS, ListingIndex } from '../src/queries/listing-index.ts';

const names = fc.integer({ min: 0, max: 2_000 }).map((n) => `lock-${n}`);
const step = fc.record({ name: names, sets: fc.boolean() });

describe('a map whose keys come and go', () => {
  it('has what a Map has, whatever has come and gone', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 3_000, size: 'max' }), (steps) => {
        const map = new RecurringMap<string, { readonly at: number }>();
        const model = new Map<string, { readonly at: number }>();
        for (const [at, { name, sets }] of steps.entries()) {
          if (sets) {
            const value = { at };
            map.set(name, value);
            model.set(name, value);
          } else {
            map.delete(name);
            model.delete(name);
          }
        }
        expect(map.size).toBe(model.size);
        for (const { name } of steps) {
          expect(map.get(name)).toBe(model.get(name));
          expect(map.has(name)).toBe(model.has(name));
        }
        expect(new Set(map.values())).toEqual(new Set(model.values()));
        const keys = new Set(iterated(map.keys()));
        for (const name of model.keys()) expect(keys.has(name)).toBe(true);
      }),
      { numRuns: 10 },
    );
  });

  it('forgets keys that are gone when there are more of them than of others', () => {
    let moves = 0;
    const map = new RecurringMap<number, object>(() => (moves += 1));
    for (let key = 0; key < 5_000; key += 1) map.set(key, {});
    for (let key = 0; key < 2_500; key += 1) map.delete(key);
    expect([moves, iterated(map.keys()).length]).toEqual([0, 5_000]);
    map.delete(2_500);
    expect([moves, iterated(map.keys()).length]).toEqual([1, 2_499]);
    for (let key = 2_501; key < 5_000; key += 1) map.delete(key);
    expect(map.size).toBe(0);
    expect(iterated(map.keys()).length).toBeLessThanOrEqual(1_024);
  });

  it('keeps its table while the same keys go and come again', () => {
    let moves = 0;
    const map = new RecurringMap<number, object>(() => (moves += 1));
    for (let round = 0; round < 1_000; round += 1) {
      for (let key = 0; key < 64; key += 1) map.set(key, {});
      for (let key = 0; key < 64; key += 1) map.delete(key);
    }
    expect([moves, map.size, iterated(map.keys()).length]).toEqual([0, 0, 64]);
  });
});

describe('a listing of such a map', () => {
  it('shows what came after the keys have moved under its reading', () => {
    const map: RecurringMap<string, object> = new RecurringMap(() => index.tableMoved());
    const index: ListingIndex<string> = new ListingIndex(map);
    const put = (name: string): void => {
      map.set(name, {});
      index.added(name);
    };
    const all = Array.from({ length: 2 * INDEX_SLICE_KEYS }, (_, n) => `lock-${n}`);
    for (const name of all) put(name);
    expect(index.prepare()).toBe(false);
    for (const name of all.slice(0, INDEX_SLICE_KEYS + 1)) {
      map.delete(name);
      index.removed();
    }
    put('late');
    put('lock-0');
    const { keys } = index.page('', '', all.length, () => true);
    expect(keys).toEqual(['late', 'lock-0', ...all.slice(INDEX_SLICE_KEYS + 1)].toSorted());
  });
});

function iterated<K>(keys: Iterator<K>): K[] {
  const all: K[] = [];
  for (let next = keys.next(); next.done !== true; next = keys.next()) all.push(next.value);
  return all;
}
