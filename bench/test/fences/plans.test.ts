import { describe, expect, it } from 'vitest';

import {
  FAIL_OVER_ROWS,
  FENCES,
  isFencesRow,
  pairRows,
  PAIR_PLANS,
  tripRows,
  tripTarget,
} from '../../src/fences/plans.ts';
import { PAIR_SOURCES } from '../../src/fences/sources.ts';

describe('what is measured of fences', () => {
  const pairs = PAIR_PLANS.flatMap((plan) => plan.clients.map((clients) => pairRows(plan, clients)));

  it('has a name for each row, by which the report knows it, and which no other row has', () => {
    const works = [
      ...pairs.flatMap(({ without, through }) => [without, through]),
      ...PAIR_PLANS.flatMap((plan) => Object.values(tripRows(plan))),
      FAIL_OVER_ROWS.each,
      FAIL_OVER_ROWS.worst,
    ];
    expect(new Set(works).size).toBe(works.length);
    for (const work of works) expect(isFencesRow({ work }), work).toBe(true);
    expect(isFencesRow({ work: 'acquire+release, 1 session' })).toBe(false);
  });

  it('can be chosen by its name, each of which has a source', () => {
    expect([...PAIR_PLANS.map(({ name }) => name), 'fail-over']).toEqual(FENCES);
    expect(Object.keys(PAIR_SOURCES)).toEqual(PAIR_PLANS.map(({ name }) => name));
  });

  it('compares what goes through a fence with the same write of as many clients', () => {
    for (const { without, through, target } of pairs) {
      expect(through).not.toBe(without);
      if (target !== undefined) expect(target.baseline).toBe(without);
    }
  });

  it('asks for 90 % where check and write are one, and for one round trip more at most where they are not', () => {
    const shares = PAIR_PLANS.flatMap(({ name, share }) => (share === undefined ? [] : [[name, share.must]]));
    expect(Object.fromEntries(shares)).toEqual({
      redis: 0.9,
      sqlite: 0.9,
      http: 0.9,
      'fenced-kv-engine': 0.9,
      replicas: 0.5,
    });
    for (const { name, share, trips } of PAIR_PLANS) {
      expect(share !== undefined || trips === 'judged' || name === 'fenced-kv', name).toBe(true);
    }
    expect(tripTarget(3)).toEqual({ must: 4, goal: 3 });
  });
});
