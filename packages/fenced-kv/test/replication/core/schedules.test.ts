import { describe, expect, it } from 'vitest';

import { InvariantError, RULES } from '../../../src/replication/core/index.ts';
import { Violation } from './support/ledger.ts';
import { MUTANTS, RIGHT } from './support/mutants.ts';
import { runSchedule, scheduleOf, shortened, type Action } from './support/schedule.ts';
import type { WorldOptions } from './support/world.ts';

/** Seeds of a group of three; of others a share of them. */
const SEEDS = Number(process.env['HOLDFAST_REPLICATION_SEEDS'] ?? 600);
/** A bug must be noticed within so many. */
const MUTANT_SEEDS = 3_000;

/** What is wrong, undefined where nothing is. */
function problemOf(options: WorldOptions, schedule: readonly Action[]): string | undefined {
  try {
    runSchedule(options, schedule);
    return undefined;
  } catch (error) {
    if (error instanceof Violation || error instanceof InvariantError) return error.message;
    throw error;
  }
}

/** The first of so many seeds in whose schedule something was noticed. */
function noticed(options: WorldOptions, seeds: number): number | undefined {
  for (let seed = 1; seed <= seeds; seed += 1) {
    if (problemOf(options, scheduleOf(seed)) !== undefined) return seed;
  }
  return undefined;
}

/** The same, with the least that shows it. */
function described(options: WorldOptions, seeds: number): string | undefined {
  const seed = noticed(options, seeds);
  if (seed === undefined) return undefined;
  const shortest = shortened(scheduleOf(seed), (part) => problemOf(options, part) !== undefined);
  return `seed ${seed}: ${problemOf(options, shortest)}: ${JSON.stringify(shortest)}`;
}

describe('a group of replicas in random schedules', { timeout: 600_000 }, () => {
  it('keeps what was acknowledged, shows one growing log, and serves when all is healed', () => {
    expect(described(RIGHT, SEEDS)).toBeUndefined();
  });

  it('does so with five replicas, of which two may be lost for good', () => {
    expect(described({ replicas: 5, rules: RULES }, Math.ceil(SEEDS / 3))).toBeUndefined();
  });

  it('meets what it must meet: writes and reads that end, fail-overs, copies, writes with an unknown outcome, sets that change', () => {
    const runs = 200;
    const met = { acknowledged: 0, reads: 0, served: 0, unknown: 0, changes: 0, lost: 0, copies: 0 };
    for (let seed = 1; seed <= runs; seed += 1) {
      const { ledger, configurations, nodes, copies } = runSchedule(RIGHT, scheduleOf(seed));
      met.acknowledged += ledger.counts.acknowledged;
      met.reads += ledger.counts.reads;
      met.served += ledger.counts.served;
      met.unknown += ledger.counts.unknown;
      met.copies += copies;
      met.lost += nodes.filter(({ lost }) => lost).length;
      met.changes += configurations.filter(({ epoch, inSync }, at) => {
        const before = configurations[at - 1];
        return before !== undefined && before.epoch === epoch && before.inSync.length !== inSync.length;
      }).length;
    }
    // Each run ends with one write, one read and one fail-over: there must be more of them.
    expect(met.acknowledged).toBeGreaterThan(4 * runs);
    expect(met.reads).toBeGreaterThan(2 * runs);
    expect(met.served).toBeGreaterThan(2 * runs);
    expect(met.copies).toBeGreaterThan(runs / 4);
    for (const count of [met.unknown, met.changes, met.lost]) expect(count).toBeGreaterThan(runs / 10);
  });
});

describe('random schedules', { timeout: 600_000 }, () => {
  it.each(Object.keys(MUTANTS))('notice a replica that %s', (name) => {
    const mutant = MUTANTS[name];
    if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
    expect(noticed(mutant, MUTANT_SEEDS)).toBeDefined();
  });
});
