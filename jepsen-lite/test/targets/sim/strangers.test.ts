import { describe, expect, it } from 'vitest';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';
import type { Effect } from '../../../src/nemeses/target.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';
import { anyNeeds, nemesisOf, type Fault } from '../../../src/nemeses/index.ts';
import { decodeScenario, encodeScenario } from '../../../src/scenario/scenario-file.ts';

const drawn = Array.from({ length: 300 }, (_, n) => drawScenario(n + 1));
const struck = drawn.filter(({ faults }) => anyNeeds(faults, 'strangers'));
/** A transfer asks operators, too, and leaves the members as they are. */
const changesMembers = ({ faults }: Scenario): boolean =>
  anyNeeds(
    faults.filter(({ kind }) => kind !== 'transfer-leadership'),
    'members',
  );
const ofStrangers = ({ kind }: Fault): boolean => nemesisOf(kind)?.needs.includes('strangers') === true;
const stepsOf = ({ faults }: Scenario): readonly Fault[] => faults.filter(ofStrangers);
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
    expect(struck.filter(changesMembers).filter(comesLate)).toEqual([]);
  });

  it('are in several of the scenarios in which the members change', () => {
    expect(struck.filter(changesMembers).length).toBeGreaterThan(5);
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
    const { failure, struck: effects } = await runScenario({
      ...scenario,
      faults: [...stepsOf(scenario)],
      durationMs: 10_000,
    });
    expect(failure).toBeUndefined();
    const count = (effect: Effect): number => effects.get(effect) ?? 0;
    expect(count('stranger-connected')).toBeGreaterThan(0);
    expect(count('stranger-refused')).toBe(count('stranger-connected'));
    expect(count('port-taken')).toBe(1);
    expect(count('server-misled')).toBeGreaterThan(0);
    expect(count('expulsion-forged')).toBeGreaterThan(0);
    expect(count('request-replayed')).toBeGreaterThan(count('replayer-dropped'));
    expect(count('replayer-dropped')).toBeGreaterThan(0);
  });
});
