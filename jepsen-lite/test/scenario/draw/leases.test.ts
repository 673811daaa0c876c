import { describe, expect, it } from 'vitest';

import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

function leaseScenarios(count: number): Scenario[] {
  const found: Scenario[] = [];
  for (let seed = 1; found.length < count; seed += 1) {
    const scenario = drawScenario(seed, { durationMs: 20_000 });
    if (isOfLeases(scenario) && !isOfLateAnswers(scenario)) found.push(scenario);
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
    for (const scenario of leaseScenarios(5)) {
      const { failure, history } = await runScenario(scenario);
      expect(failure).toBeUndefined();
      lost += history.filter((event) => event.type === 'lost' && event.reason === 'expired').length;
      stale += history.filter((event) => event.type === 'fail' && event.code === 'STALE_TOKEN').length;
    }
    expect(lost).toBeGreaterThan(6);
    expect(stale).toBeGreaterThan(0);
  });
});

describe('a scenario of late answers', () => {
  const found: Scenario[] = [];
  for (let seed = 1; seed <= 200; seed += 1) {
    const scenario = drawScenario(seed);
    if (isOfLateAnswers(scenario)) found.push(scenario);
  }

  it('is about one in twelve, and has both kinds of answers', () => {
    expect(found.length).toBeGreaterThan(8);
    expect(found.length).toBeLessThan(30);
    const kinds = new Set(found.flatMap(({ faults }) => faults.map(({ kind }) => kind)));
    expect([...kinds]).toEqual(expect.arrayContaining(['break', 'pause', 'partition', 'clog', 'cut']));
  });

  it(
    'makes holders lose their sessions, and nobody believes in a lease for too long',
    { timeout: 60_000 },
    async () => {
      const { failure, history } = await runScenario({ ...(found[0] ?? drawScenario(1)), durationMs: 20_000 });
      expect(failure).toBeUndefined();
      expect(history.filter((event) => event.type === 'lost' && event.reason === 'expired').length).toBeGreaterThan(1);
    },
  );
});

/** Steps as long as only such runs have. */
function isOfLeases({ clients }: Scenario): boolean {
  return clients.some(({ longSteps }) => longSteps !== undefined);
}

function isOfLateAnswers(scenario: Scenario): boolean {
  return isOfLeases(scenario) && scenario.faults.some(({ kind }) => kind === 'break' || kind === 'clog');
}
