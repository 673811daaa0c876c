import { describe, expect, it } from 'vitest';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';
import type { StrangerStep } from '../../../src/plan/steps.ts';
import { decodeScenario, encodeScenario } from '../../../src/scenario/scenario-file.ts';

const drawn = Array.from({ length: 300 }, (_, n) => drawScenario(n + 1));
const struck = drawn.filter(({ strangers }) => strangers !== undefined);
const stepsOf = ({ strangers = [] }: Scenario): readonly StrangerStep[] => strangers;
const comesLate = (scenario: Scenario): boolean => stepsOf(scenario).some(({ atMs }) => atMs === 0);

describe('strangers that are drawn', () => {
  it('are in about one scenario of five, none of them about leases', () => {
    expect(struck.length).toBeGreaterThan(30);
    expect(struck.length).toBeLessThan(90);
    expect(struck.filter(({ clients }) => clients.some(({ longSteps }) => longSteps !== undefined))).toEqual([]);
  });

  it('are never at more than one port, so that they are no majority', () => {
    for (const scenario of struck) {
      const taken = stepsOf(scenario).flatMap((step) => (step.kind === 'usurp' ? [step.server] : []));
      expect(new Set(taken).size).toBe(1);
    }
  });

  it('keep some founders away, in runs in which the members stay', () => {
    expect(struck.filter(comesLate).length).toBeGreaterThan(10);
    expect(struck.filter(({ members }) => members !== undefined).filter(comesLate)).toEqual([]);
  });

  it('are in several of the scenarios in which the members change', () => {
    expect(struck.filter(({ members }) => members !== undefined).length).toBeGreaterThan(5);
  });

  it('come back from a file as they were', () => {
    for (const scenario of struck.slice(0, 5)) {
      const saved = { scenario, failure: undefined, traceHash: '0123456789abcdef' };
      expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
    }
  });
});

describe('a simulated ensemble with strangers at its ports', () => {
  it('hears none of them, and loses no member by their word', { timeout: 60_000 }, async () => {
    const scenario = struck.find((each) => each.servers === 3 && comesLate(each));
    if (scenario === undefined) throw new Error('no scenario has them');
    const { failure, strangers } = await runScenario({ ...scenario, faults: [], durationMs: 10_000 });
    expect(failure).toBeUndefined();
    expect(strangers.strangersConnected).toBeGreaterThan(0);
    expect(strangers.strangersRefused).toBe(strangers.strangersConnected);
    expect(strangers.portsTaken).toBe(1);
    expect(strangers.serversMisled).toBeGreaterThan(0);
    expect(strangers.expulsionsForged).toBeGreaterThan(0);
    expect(strangers.requestsReplayed).toBeGreaterThan(strangers.replayersDropped);
    expect(strangers.replayersDropped).toBeGreaterThan(0);
  });
});
