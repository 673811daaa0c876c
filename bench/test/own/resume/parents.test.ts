import { describe, expect, it } from 'vitest';

import { COMMON, WATCHES_EACH, parentOf, parentsFor, parentsOf } from '../../../src/own/resume/parents.ts';

describe('the parents that clients watch', () => {
  it.each([1, 30, 300, 10_000])('are different ones of each of %i, all watched, and one common to all', (clients) => {
    const parents = parentsFor(clients);
    const watchers = new Map<string, number>();
    for (let client = 0; client < clients; client += 1) {
      const watched = parentsOf(client, parents);
      expect(new Set(watched).size).toBe(WATCHES_EACH);
      for (const parent of watched) watchers.set(parent, (watchers.get(parent) ?? 0) + 1);
    }
    expect(watchers.get(COMMON)).toBe(clients);
    expect(watchers.size).toBe(parents + 1);
    for (let n = 0; n < parents; n += 1) expect(watchers.get(parentOf(n))).toBeLessThanOrEqual(90);
  });
});
