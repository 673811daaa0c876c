import { describe, expect, it } from 'vitest';

import { drawScenario } from '../../src/sim/draw.ts';
import { runScenario } from '../../src/sim/run.ts';
import type { Scenario } from '../../src/sim/scenario.ts';

function leaseScenarios(count: number): Scenario[] {
  const found: Scenario[] = [];
  for (let seed = 1; found.length < count; seed += 1) {
    const scenario = drawScenario(seed, { durationMs: 20_000 });
    if (scenario.clients.some(({ longSteps }) => longSteps !== undefined)) found.push(scenario);
  }
  return found;
}

describe('a scenario of leases', () => {
  it('is about one in five', () => {
    const last = leaseScenarios(20).at(-1);
    expect(last?.seed).toBeGreaterThan(50);
    expect(last?.seed).toBeLessThan(200);
  });

  it('brings holders to lose their locks, and writers to come too late', { timeout: 60_000 }, async () => {
    let lost = 0;
    let stale = 0;
    for (const scenario of leaseScenarios(3)) {
      const { failure, history } = await runScenario(scenario);
      expect(failure).toBeUndefined();
      lost += history.filter((event) => event.type === 'lost' && event.reason === 'expired').length;
      stale += history.filter((event) => event.type === 'fail' && event.code === 'STALE_TOKEN').length;
    }
    expect(lost).toBeGreaterThan(6);
    expect(stale).toBeGreaterThan(0);
  });
});
