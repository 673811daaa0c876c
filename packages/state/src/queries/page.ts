/** One page of a listing: the first items in order, and whether more follow. */

import { MAX_PAGE_ENTRIES } from '@holdfast/protocol';

export interface Page<T> {
  readonly items: readonly T[];
  readonly more: boolean;
}

/**
 * The first `limit` of `items` by `compare`, without sorting them all. `compare` must never call two of them equal, so that the
 * page does not depend on the order in which they come.
 */
export function firstPage<T>(items: Iterable<T>, limit: number, compare: (left: T, right: T) => number): Page<T> {
  const size = Math.max(1, Math.min(MAX_PAGE_ENTRIES, limit));
  const first = smallest(items, size + 1, compare);
  return { items: first.slice(0, size), more: first.length > size };
}

function smallest<T>(items: Iterable<T>, count: number, compare: (left: T, right: T) => number): T[] {
  const kept: T[] = [];
  let bound: T | undefined;
  for (const item of items) {
    if (bound !== undefined && compare(item, bound) >= 0) continue;
    kept.push(item);
    // Sorting only when as many again have gathered costs O(log count) an item.
    if (kept.length >= 2 * count) {
      kept.sort(compare);
      kept.length = count;
      bound = kept[count - 1];
    }
  }
  return kept.sort(compare).slice(0, count);
}
