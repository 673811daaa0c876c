import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as ActiveQuorums from '../../../src/core/quorum/active-quorums.ts';
import type * as Configurations from '../../../src/core/membership/configuration.ts';
import type * as Peers from '../../../src/core/replication/progress.ts';

const QUORUMS = '../../../src/core/quorum/active-quorums.ts';
const CONFIGURATIONS = '../../../src/core/membership/configuration.ts';
const PROGRESS = '../../../src/core/replication/progress.ts';

/** Decides by some of the sets of voters. */
async function decideBy(choose: (sets: ActiveQuorums.VoterSets) => ActiveQuorums.VoterSets): Promise<void> {
  const real = await vi.importActual<typeof ActiveQuorums>(QUORUMS);
  const mutated: typeof ActiveQuorums = {
    reachedByQuorums: (sets, valueOf) => real.reachedByQuorums(choose(sets), valueOf),
    heldByQuorums: (sets, holds) => real.heldByQuorums(choose(sets), holds),
  };
  vi.doMock(QUORUMS, () => mutated);
}

async function countLearners(): Promise<void> {
  const real = await vi.importActual<typeof Configurations>(CONFIGURATIONS);
  const mutated: typeof Configurations = {
    ...real,
    voterSets: (configuration) => {
      const [incoming = [], ...rest] = real.voterSets(configuration);
      const learners = configuration.members.filter(({ role }) => role === 'learner' || role === 'observer');
      return [[...incoming, ...learners.map(({ id }) => id)], ...rest];
    },
  };
  vi.doMock(CONFIGURATIONS, () => mutated);
}

async function takeAllForHeard(): Promise<void> {
  const real = await vi.importActual<typeof Peers>(PROGRESS);
  class AlwaysAlive extends real.Progress {
    override isAlive(): boolean {
      return true;
    }
  }
  const mutated: typeof Peers = { ...real, Progress: AlwaysAlive };
  vi.doMock(PROGRESS, () => mutated);
}

/** Runs with modules of its own, in which a mutant is in the place of the rule. */
async function caught(mutate: () => Promise<void>): Promise<string> {
  vi.resetModules();
  await mutate();
  const { runSchedule } = await import('../support/random-schedule.ts');
  const { changes } = await import('../support/random-changes.ts');
  const { BrokenPromise } = await import('../support/broken-promise.ts');
  for (let seed = 1; seed <= 100; seed += 1) {
    try {
      runSchedule({ servers: 3, spares: 8, seed, diskMs: [1, 30] }, changes());
    } catch (error) {
      if (error instanceof BrokenPromise || (error instanceof Error && error.name === 'InvariantError')) {
        return error.message;
      }
      throw error;
    }
  }
  return 'nothing was noticed';
}

afterEach(() => {
  vi.doUnmock(QUORUMS);
  vi.doUnmock(CONFIGURATIONS);
  vi.doUnmock(PROGRESS);
  vi.resetModules();
});

describe('random changes', { timeout: 120_000 }, () => {
  const noticed =
    /without a majority of every set|two leaders|lacks committed|another entry|never-removed|hearing a quorum/;

  it('notice a core that counts silent voters for a removal', async () => {
    expect(await caught(takeAllForHeard)).toMatch(/counts silent voters/);
  });

  it('notice a core that decides by the new voters alone', async () => {
    expect(await caught(() => decideBy((sets) => sets.slice(0, 1)))).toMatch(noticed);
  });

  it('notice a core that decides by the old voters alone', async () => {
    expect(await caught(() => decideBy((sets) => sets.slice(-1)))).toMatch(noticed);
  });

  it('notice a core that counts learners', async () => {
    expect(await caught(countLearners)).toMatch(noticed);
  });

  it('notice nothing in a core without a fault', async () => {
    expect(await caught(() => Promise.resolve())).toBe('nothing was noticed');
  });
});
