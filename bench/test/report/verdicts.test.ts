import { describe, expect, it } from 'vitest';

import type { ResultRow } from '../../src/report/result-row.ts';
import { countedRow, withVerdicts } from '../../src/report/verdicts.ts';
import { ownRowOf, rowOf } from '../support/rows.ts';

const verdictOf = (rows: readonly ResultRow[]) => {
  const { ratio, met } = withVerdicts(rows).find(({ system }) => system === 'holdfast') as ResultRow;
  return { ratio, met };
};

describe('a verdict', () => {
  it('compares medians with the better peer and leaves Redis out', () => {
    const rows = [
      rowOf('holdfast', [100, 300, 210]),
      rowOf('zookeeper', [100]),
      rowOf('etcd', [50]),
      rowOf('redis', [900]),
    ];
    expect(verdictOf(rows)).toEqual({ ratio: 2.1, met: true });
  });

  it('takes the smaller figure as the better one where it is a time or a size', () => {
    const peers = [rowOf('zookeeper', [4], { unit: 'ms' }), rowOf('etcd', [10], { unit: 'ms' })];
    const target = { must: 0.5, goal: 0.2 };
    expect(verdictOf([rowOf('holdfast', [2], { unit: 'ms', target }), ...peers])).toEqual({ ratio: 0.5, met: true });
    expect(verdictOf([rowOf('holdfast', [3], { unit: 'ms', target }), ...peers])).toEqual({ ratio: 0.75, met: false });
  });

  it('looks at the one peer that a target names', () => {
    const target = { must: 0.9, goal: 0.6, peer: 'zookeeper' as const };
    const rows = [
      rowOf('holdfast', [200], { unit: 'MiB', target }),
      rowOf('zookeeper', [400], { unit: 'MiB' }),
      rowOf('etcd', [100], { unit: 'MiB' }),
    ];
    expect(verdictOf(rows)).toEqual({ ratio: 0.5, met: true });
  });

  it('is open without a peer and without a figure', () => {
    expect(verdictOf([rowOf('holdfast', [1]), rowOf('redis', [1])])).toEqual({ ratio: null, met: null });
    expect(verdictOf([rowOf('holdfast', []), rowOf('etcd', [1])])).toEqual({ ratio: null, met: null });
  });
});

describe('a verdict about our own system', () => {
  const slow = { must: 1.15, goal: 1.05, baseline: 'exclusive' };

  it('compares a figure with the row that the target names, whatever peers reach', () => {
    const rows = [ownRowOf('exclusive', [100]), ownRowOf('read', [110], slow), ownRowOf('two', [120], slow)];
    const judged = withVerdicts([...rows, rowOf('zookeeper', [1], { unit: 'µs' })]);
    expect(judged.slice(0, 3)).toMatchObject([
      { ratio: null, met: null },
      { ratio: 1.1, met: true },
      { ratio: 1.2, met: false },
    ]);
  });

  it('is open while that row has no figure', () => {
    expect(verdictOf([ownRowOf('read', [110], slow)])).toEqual({ ratio: null, met: null });
    expect(verdictOf([ownRowOf('read', [110], slow), ownRowOf('exclusive', [])])).toEqual({ ratio: null, met: null });
  });

  it('compares with the bound itself where the target names no row', () => {
    const bound = { must: 20, goal: 10 };
    expect(verdictOf([ownRowOf('election', [20, 19, 90], bound, 'ms')])).toEqual({ ratio: null, met: true });
    expect(verdictOf([ownRowOf('election', [21], bound, 'ms')])).toEqual({ ratio: null, met: false });
  });
});

describe("a peer's figure", () => {
  const routeOf = (raw: number, native: number, unit = 'cycles/s') =>
    countedRow([rowOf('etcd', [raw], { unit }), rowOf('etcd', [native], { unit, route: 'native' })], 'a work', 'etcd')
      ?.route;

  it('is that of our generator within 15 % of its own client', () => {
    expect(routeOf(86, 100)).toBe('raw');
    expect(routeOf(114, 100)).toBe('raw');
  });

  it('is the better one of two clients, however near they are', () => {
    const rows = [rowOf('etcd', [99], { route: 'client' }), rowOf('etcd', [100], { route: 'native' })];
    expect(countedRow(rows, 'a work', 'etcd')?.route).toBe('native');
    expect(
      countedRow(
        [...rows].map((row) => ({ ...row, unit: 'ms' })),
        'a work',
        'etcd',
      )?.route,
    ).toBe('client');
  });

  it('is the better of both otherwise', () => {
    expect(routeOf(84, 100)).toBe('native');
    expect(routeOf(130, 100)).toBe('raw');
    expect(routeOf(1.3, 1, 'ms')).toBe('native');
    expect(routeOf(0.5, 1, 'ms')).toBe('raw');
  });
});
