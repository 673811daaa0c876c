import { describe, expect, it } from 'vitest';

import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

const SEEDS = Array.from({ length: 200 }, (_, n) => n + 1);

function isBursting({ clients }: Scenario): boolean {
  return clients.some(({ bursts }) => bursts === true);
}

describe('a scenario of bursts', () => {
  it('is about one in five, none of them about leases', () => {
    const found = SEEDS.map((seed) => drawScenario(seed)).filter(isBursting);
    expect(found.length).toBeGreaterThan(20);
    expect(found.length).toBeLessThan(60);
    expect(found.filter(({ clients }) => clients.some(({ longSteps }) => longSteps !== undefined))).toEqual([]);
  });

  it('has at least two clients at it, so that one may wait for another', () => {
    for (const { clients } of SEEDS.map((seed) => drawScenario(seed)).filter(isBursting)) {
      expect(clients.filter(({ bursts }) => bursts === true).length).toBeGreaterThan(1);
    }
  });

  it('makes leaders hold proposals for a batch, in time and in vain', { timeout: 60_000 }, async () => {
    const sum = { proposalsBatched: 0, batchesComplete: 0, batchesLate: 0 };
    for (const seed of SEEDS.filter((each) => isBursting(drawScenario(each))).slice(0, 6)) {
      const { failure, batches } = await runScenario(drawScenario(seed, { durationMs: 20_000 }));
      expect(failure, `seed ${seed}`).toBeUndefined();
      sum.proposalsBatched += batches.proposalsBatched;
      sum.batchesComplete += batches.batchesComplete;
      sum.batchesLate += batches.batchesLate;
    }
    expect(sum.batchesComplete).toBeGreaterThan(10);
    expect(sum.batchesLate).toBeGreaterThan(0);
    expect(sum.proposalsBatched).toBeGreaterThanOrEqual(sum.batchesComplete + sum.batchesLate);
  });
});
