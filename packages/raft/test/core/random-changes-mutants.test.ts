import { describe, expect, it, vi } from 'vitest';
import type * as ActiveQuorums from '../../src/core/active-quorums.ts';
import type * as Configurations from '../../src/core/configuration.ts';
import { BrokenPromise } from './support/core-cluster.ts';
import { changes } from './support/random-changes.ts';
import { runSchedule } from './support/random-schedule.ts';

const mutant = vi.hoisted(() => ({ name: 'none' }));

vi.mock('../../src/core/active-quorums.ts', async (original) => {
  const real = await original<typeof ActiveQuorums>();
  const setsOf = (sets: ActiveQuorums.VoterSets) => {
    if (mutant.name === 'only-the-new-voters') return sets.slice(0, 1);
    return mutant.name === 'only-the-old-voters' ? sets.slice(-1) : sets;
  };
  const mutated: typeof ActiveQuorums = {
    reachedByQuorums: (sets, valueOf) => real.reachedByQuorums(setsOf(sets), valueOf),
    heldByQuorums: (sets, holds) => real.heldByQuorums(setsOf(sets), holds),
  };
  return mutated;
});

vi.mock('../../src/core/configuration.ts', async (original) => {
  const real = await original<typeof Configurations>();
  const mutated: typeof Configurations = {
    ...real,
    voterSets: (configuration) => {
      const [incoming = [], ...rest] = real.voterSets(configuration);
      if (mutant.name !== 'learners-count') return [incoming, ...rest];
      const learners = configuration.members.filter(({ role }) => role === 'learner' || role === 'observer');
      return [[...incoming, ...learners.map(({ id }) => id)], ...rest];
    },
  };
  return mutated;
});

function caught(name: string): string {
  mutant.name = name;
  try {
    for (let seed = 1; seed <= 200; seed += 1) {
      runSchedule({ servers: 3, spares: 8, seed, diskMs: [1, 30] }, changes());
    }
    return 'nothing was noticed';
  } catch (error) {
    if (error instanceof BrokenPromise || (error instanceof Error && error.name === 'InvariantError')) {
      return error.message;
    }
    throw error;
  } finally {
    mutant.name = 'none';
  }
}

describe('random changes', { timeout: 120_000 }, () => {
  const noticed = /without a majority of every set|two leaders|lacks committed|another entry|never-removed/;

  it.each(['only-the-new-voters', 'only-the-old-voters', 'learners-count'])('notice a core in which %s', (name) => {
    expect(caught(name)).toMatch(noticed);
  });

  it('notice nothing in a core without a fault', () => {
    expect(caught('none')).toBe('nothing was noticed');
  });
});
