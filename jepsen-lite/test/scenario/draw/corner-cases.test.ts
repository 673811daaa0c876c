import { describe, expect, it } from 'vitest';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

const SEEDS = Array.from({ length: 200 }, (_, n) => n + 1);

const isNarrow = ({ replication }: Scenario): boolean => replication !== undefined;

describe('a scenario of narrow replication', () => {
  it('is about one in twelve, about leases or not', () => {
    const found = SEEDS.map((seed) => drawScenario(seed)).filter(isNarrow);
    expect(found.length).toBeGreaterThan(8);
    expect(found.length).toBeLessThan(30);
  });

  it('makes leaders wait for a window, which they never do otherwise', { timeout: 60_000 }, async () => {
    let hits = 0;
    for (const seed of SEEDS.filter((each) => isNarrow(drawScenario(each))).slice(0, 3)) {
      const scenario = drawScenario(seed, { durationMs: 10_000 });
      const { failure, marks } = await runScenario(scenario);
      expect(failure, `seed ${seed}`).toBeUndefined();
      hits += marks['window-full'] ?? 0;
      const { replication: _, ...wide } = scenario;
      expect((await runScenario(wide)).marks['window-full'], `seed ${seed}, as in production`).toBeUndefined();
    }
    expect(hits).toBeGreaterThan(0);
  });
});
