import { describe, expect, it } from 'vitest';
import { logTimesAreExact } from '../../../src/checkers/locks/log-order.ts';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario, runSeed } from '../../../src/targets/sim/run.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

describe('the whole system in a simulated world', () => {
  it('keeps its promises under the faults of a few seeds', { timeout: 120_000 }, async () => {
    for (let seed = 1; seed <= 4; seed += 1) {
      const { failure, commands, history } = await runSeed(seed);
      expect(failure, `seed ${seed}`).toBeUndefined();
      expect(commands.get('acquire')).toBeGreaterThan(0);
      expect(logTimesAreExact(history)).toBe(true);
    }
  });

  it('takes the same path for the same seed', { timeout: 60_000 }, async () => {
    for (const seed of [4, 6]) {
      const [first, second] = [await runSeed(seed), await runSeed(seed)];
      expect(second.traceHash).toBe(first.traceHash);
      expect(second.history).toEqual(first.history);
    }
    expect((await runSeed(4)).traceHash).not.toBe((await runSeed(6)).traceHash);
  });

  it(
    'catches holders that believe too long when a clock runs faster than is allowed',
    { timeout: 60_000 },
    async () => {
      const scenario = fastServers(drawScenario(2));
      expect((await runScenario(scenario)).failure?.name).toBe('nobody-believes-after-expiry');
      expect((await runScenario(fastServers(drawScenario(2), 1.01))).failure).toBeUndefined();
    },
  );
});

/** Sessions end early by the servers' clocks, while clients that were stopped for less than their timeout wake and believe. */
function fastServers(scenario: Scenario, rate = 3): Scenario {
  const durationMs = 40_000;
  const faults: Scenario['faults'] = [
    ...['s1', 's2', 's3'].map(
      (host) => ({ kind: 'clock-rate', atMs: 10, forMs: durationMs, host, clock: 'monotonic', rate }) as const,
    ),
    ...Array.from({ length: 30 }, (_, n) => {
      const host = `c${1 + (n % 3)}`;
      return { kind: 'pause', atMs: 2_000 + n * 1_200, forMs: 1_500, host } as const;
    }),
  ];
  const clients = scenario.clients.slice(0, 3).map((client) => ({ ...client, sessionTimeoutMs: 2_000, workers: 2 }));
  return { ...scenario, servers: 3, clients, locks: 1, durationMs, faults };
}
