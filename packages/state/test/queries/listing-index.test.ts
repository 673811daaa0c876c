import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INDEX_SLICE_KEYS, ListingIndex } from '../../src/queries/listing-index.ts';

class Table {
  readonly keys = new Map<string, true>();
  readonly index = new ListingIndex(this.keys);

  add(key: string): void {
    if (this.keys.has(key)) return;
    this.keys.set(key, true);
    this.index.added(key);
  }

  remove(key: string): void {
    if (this.keys.delete(key)) this.index.removed();
  }

  page(after: string, prefix: string, count: number): { readonly keys: readonly string[]; readonly more: boolean } {
    return this.index.page(after, prefix, count, (key) => key.startsWith(prefix));
  }

  /** As one without an index would tell it. */
  expected(after: string, prefix: string, count: number): { readonly keys: readonly string[]; readonly more: boolean } {
    const all = [...this.keys.keys()].filter((key) => key > after && key.startsWith(prefix)).toSorted();
    return { keys: all.slice(0, count), more: all.length > count };
  }
}

const key = fc.oneof(
  fc.integer({ min: 0, max: 300 }).map((n) => `k${n}`),
  fc.string({ unit: fc.constantFrom('a', 'b', '\u00e9', '\ud800', '\uffff'), maxLength: 3 }),
);
const step = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('add' as const), key }), weight: 6 },
  { arbitrary: fc.record({ do: fc.constant('remove' as const), key }), weight: 4 },
  { arbitrary: fc.record({ do: fc.constant('prepare' as const), key }), weight: 1 },
  {
    arbitrary: fc.record({
      do: fc.constant('page' as const),
      key,
      prefix: fc.constantFrom('', 'k', 'k1', 'a', '\u00e9', 'zz'),
      count: fc.integer({ min: 1, max: 20 }),
    }),
    weight: 2,
  },
);

describe('a page of a listing', () => {
  it('is what sorting everything would give, whatever has come and gone before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const table = new Table();
        for (const each of steps) {
          if (each.do === 'add') table.add(each.key);
          else if (each.do === 'remove') table.remove(each.key);
          else if (each.do === 'prepare') table.index.prepare();
          else {
            const { key: after, prefix, count } = each;
            expect(table.page(after, prefix, count)).toEqual(table.expected(after, prefix, count));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is right while the index is made, in slices, and everything changes meanwhile', () => {
    const table = new Table();
    for (let n = 0; n < 5 * INDEX_SLICE_KEYS; n += 1) table.add(`k${n}`);
    let slices = 1;
    while (!table.index.prepare()) {
      slices += 1;
      for (let n = 0; n < 100; n += 1) {
        table.remove(`k${slices * 2_000 + n}`);
        table.add(`new ${slices} ${n}`);
        // Gone and back again.
        table.remove(`k${n}`);
        table.add(`k${n}`);
      }
    }
    expect(slices).toBeGreaterThanOrEqual(5);
    for (const prefix of ['', 'k1', 'new', 'k']) {
      expect(table.page('', prefix, 1_000)).toEqual(table.expected('', prefix, 1_000));
      expect(table.page('k3', prefix, 10)).toEqual(table.expected('k3', prefix, 10));
    }
  });

  it('stays right when more has changed than an index is kept for, between listings or beside them', () => {
    for (const listing of [true, false]) {
      const table = new Table();
      for (let n = 0; n < 3_000; n += 1) table.add(`k${n}`);
      table.page('', '', 10);
      for (let n = 0; n < 70_000; n += 1) {
        table.add(`cycle ${n}`);
        table.remove(`cycle ${n - 5}`);
        if (listing && n % 500 === 0) expect(table.page('', 'cycle', 10)).toEqual(table.expected('', 'cycle', 10));
      }
      expect(table.page('', '', 1_000)).toEqual(table.expected('', '', 1_000));
    }
  });

  it('is right when the index was given up before it was made', () => {
    const table = new Table();
    for (let n = 0; n < 2 * INDEX_SLICE_KEYS; n += 1) table.add(`k${n}`);
    expect(table.index.prepare()).toBe(false);
    for (let n = 0; n < 70_000; n += 1) {
      table.add(`cycle ${n}`);
      table.remove(`cycle ${n - 5}`);
    }
    expect(table.page('', '', 1_000)).toEqual(table.expected('', '', 1_000));
  });

  it('looks at few keys of many', () => {
    const table = new Table();
    for (let n = 0; n < 100_000; n += 1) table.add(`k${n}`);
    table.page('', '', 1);
    let looks = 0;
    const { more } = table.index.page('k5', '', 100, () => {
      looks += 1;
      return true;
    });
    expect(more).toBe(true);
    expect(looks).toBeLessThan(100_000 / 10);
  });
});
