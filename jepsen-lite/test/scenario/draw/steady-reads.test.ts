import { describe, expect, it } from 'vitest';

import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

const SCENARIOS = Array.from({ length: 300 }, (_, n) => drawScenario(n + 1));

function readsSteadily({ clients }: Scenario): boolean {
  return clients.some(({ readEveryMs }) => readEveryMs !== undefined);
}

describe('a scenario of steady reads', () => {
  const found = SCENARIOS.filter(readsSteadily);

  it('is about one in ten, none of them about leases', () => {
    expect(found.length).toBeGreaterThan(15);
    expect(found.length).toBeLessThan(60);
    expect(found.filter(({ clients }) => clients.some(({ longSteps }) => longSteps !== undefined))).toEqual([]);
  });

  it('has clients that ask more often than its leaders send heartbeats, and disks that hang', () => {
    for (const { clients, tuning, faults } of found) {
      for (const { readEveryMs } of clients) expect(readEveryMs).toBeLessThan(tuning.heartbeatMs);
      expect(faults.some(({ kind }) => kind === 'hung-disk' || kind === 'pause')).toBe(true);
    }
    expect(found.filter(({ faults }) => faults.some(({ kind }) => kind === 'remove-member')).length).toBeGreaterThan(5);
  });

  it('makes leaders give up, and followers be waited for now and then', { timeout: 60_000 }, async () => {
    const sum = { disksHung: 0, deferredCommits: 0 };
    for (const scenario of found.slice(3, 5)) {
      const { failure, leadership } = await runScenario(scenario);
      expect(failure, `seed ${scenario.seed}`).toBeUndefined();
      sum.disksHung += leadership.disksHung;
      sum.deferredCommits += leadership.deferredCommits;
    }
    expect(sum.disksHung).toBeGreaterThan(0);
    expect(sum.deferredCommits).toBeGreaterThan(0);
  });
});
