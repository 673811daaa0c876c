/** A group of replicas with the ensemble that keeps its configuration, all of it the real thing, in one simulated world. */

import { describe, expect, it } from 'vitest';

import { runScenario, type SeedResult } from '../../../../src/targets/sim/run.ts';
import { groupScenario } from '../../../support/group/group-scenario.ts';

/** Of the whole group with its ensemble. */
const SEEDS = Number(process.env['HOLDFAST_REPLICATION_GROUP_SEEDS'] ?? 6);
const FIRST = Number(process.env['HOLDFAST_REPLICATION_GROUP_FIRST'] ?? 1);

function countsOf({ verdicts }: SeedResult, checker: string): Readonly<Record<string, number>> {
  return verdicts.find((each) => each.checker === checker)?.counts ?? {};
}

describe('a group of replicas and its ensemble in one simulated world', { timeout: 86_400_000 }, () => {
  it('lose nothing under faults of replicas, of the ensemble and of both, and are whole again in the end', async () => {
    const met = { acknowledged: 0, primaries: 0, removals: 0, lastReads: 0 };
    const failures: string[] = [];
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      const result = await runScenario(groupScenario(seed));
      if (result.failure !== undefined) {
        const faults = result.scenario.faults.map(({ kind }) => kind).join(' ');
        failures.push(`seed ${seed} (${faults}): ${result.failure.name}: ${result.failure.message}`);
        process.stderr.write(`${failures.at(-1)}\n`);
      }
      met.acknowledged += countsOf(result, 'linearizable-keys')['operations'] ?? 0;
      met.primaries += countsOf(result, 'configurations')['changesOfPrimary'] ?? 0;
      met.removals += countsOf(result, 'configurations')['removals'] ?? 0;
      met.lastReads += countsOf(result, 'replicas')['lastReads'] ?? 0;
    }
    expect(failures).toEqual([]);
    expect(met.acknowledged).toBeGreaterThan(50 * SEEDS);
    expect(met.lastReads).toBeGreaterThan(SEEDS);
    // A part of the seeds has no fault that takes a primary's place from it.
    expect(met.primaries).toBeGreaterThan(SEEDS / 3);
    expect(met.removals).toBeGreaterThan(SEEDS / 3);
  });

  it('makes the same run of the same seed', async () => {
    const [one, other] = [await runScenario(groupScenario(3)), await runScenario(groupScenario(3))];
    expect(other.traceHash).toBe(one.traceHash);
    expect(other.history).toEqual(one.history);
  });
});
