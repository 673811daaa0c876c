import { describe, expect, it } from 'vitest';

import { toldOnce, watchesTable } from '../../../src/own/watches/table.ts';
import type { WatchesResult } from '../../../src/own/watches/watches.ts';

const RESULT: WatchesResult = {
  emptyMiB: 100,
  nodesMiB: 400,
  watchesMiB: 440,
  seconds: 4,
  leaderSeconds: 2.5,
  clientSeconds: 1.25,
  changed: 1_000,
  events: 1_000,
};

describe('the table of many watches', () => {
  it('tells what they take beyond the nodes, and how fast they were registered', () => {
    const text = watchesTable(1_000_000, RESULT).join('\n');
    expect(text).toContain('| leader RSS, 1,000,000 nodes of 100 B, MiB | 400 | | | |');
    expect(text).toContain('| more with a watch on each, MiB | 40 | 96 | 48 | yes |');
    expect(text).toContain('| registered, watches/s | 250,000 | 100,000 | 300,000 | yes |');
    expect(text).toContain('| 2.50, 1.25 |');
  });

  it('says what is too much, and what is too slow', () => {
    const text = watchesTable(1_000_000, { ...RESULT, watchesMiB: 500, seconds: 11 }).join('\n');
    expect(text).toContain('| more with a watch on each, MiB | 100 | 96 | 48 | **no** |');
    expect(text).toContain('| registered, watches/s | 90,909 | 100,000 | 300,000 | **no** |');
  });

  it.each([
    ['an event too few', 999],
    ['an event too many', 1_001],
  ])('is no success with %s', (_, events) => {
    expect(toldOnce(RESULT)).toBe(true);
    expect(toldOnce({ ...RESULT, events })).toBe(false);
    expect(watchesTable(1_000_000, { ...RESULT, events }).at(-1)).toContain('**no**');
  });
});
