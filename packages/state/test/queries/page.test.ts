import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MAX_PAGE_ENTRIES } from '@holdfast/protocol';

import { firstPage } from '../../src/queries/page.ts';

const byValue = (left: number, right: number): number => left - right;

describe('a page', () => {
  it('has the first items in order, whatever the order in which they come', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(), { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (items, limit) => {
        const sorted = items.toSorted(byValue);
        expect(firstPage(items, limit, byValue)).toEqual({
          items: sorted.slice(0, limit),
          more: sorted.length > limit,
        });
      }),
    );
  });

  it('has at least one item and at most the limit of a page', () => {
    const items = Array.from({ length: MAX_PAGE_ENTRIES * 5 }, (_, n) => (n * 7_919) % (MAX_PAGE_ENTRIES * 5));
    expect(firstPage(items, 0, byValue).items).toEqual([0]);
    const page = firstPage(items, Number.MAX_SAFE_INTEGER, byValue);
    expect([page.items.length, page.items.at(-1), page.more]).toEqual([MAX_PAGE_ENTRIES, MAX_PAGE_ENTRIES - 1, true]);
  });
});
