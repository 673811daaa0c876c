import { describe, expect, it } from 'vitest';

import { compare } from '../../src/count/baseline.ts';
import { medianCosts, type Costs, type RoleCosts } from '../../src/count/costs.ts';

const costs = (systemCalls: number): Costs => ({
  systemCalls,
  durableWrites: 2,
  writtenBytes: 3_000,
  allocatedBytes: 40_000,
});
const roles = (leader: number, follower = 10): RoleCosts => ({ leader: costs(leader), follower: costs(follower) });

describe('a baseline', () => {
  it('allows a growth of a fifth, and no more', () => {
    const verdicts = (counted: number) =>
      compare({ load: roles(100) }, { load: roles(counted) })
        .filter(({ verdict }) => verdict !== 'same')
        .map(({ role, cost, verdict }) => `${role} ${cost} ${verdict}`);
    expect(verdicts(120)).toEqual([]);
    expect(verdicts(121)).toEqual(['leader systemCalls grew']);
    expect(verdicts(80)).toEqual([]);
    expect(verdicts(79)).toEqual(['leader systemCalls fell']);
  });

  it('must have what was counted', () => {
    expect(() => compare({ load: roles(1) }, { other: roles(1) })).toThrow('no systemCalls of "other"');
  });
});

describe('several counts', () => {
  it('become one by the median of each cost', () => {
    expect(medianCosts([roles(5, 1), roles(1, 2), roles(3, 3)])).toEqual(roles(3, 2));
  });
});
