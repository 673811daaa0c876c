import { STRUCK_FAULTS } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { ENSEMBLE_EFFECTS } from '../../src/nemeses/target.ts';
import { effectsOf, NEMESES } from '../../src/nemeses/index.ts';
import { nemesis } from '../../src/nemeses/nemesis.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { withOwnStreams } from '../../src/scenario/draw/mixture.ts';
import { SimWorld } from '@holdfast/runtime/sim';

const SEEDS = Array.from({ length: 40 }, (_, n) => n + 1);

describe('the list of nemeses', () => {
  it('has no two of one name', () => {
    expect(new Set(NEMESES.map(({ kind }) => kind)).size).toBe(NEMESES.length);
  });

  it('claims every effect that is counted, so that none can be missing unnoticed', () => {
    const claimed = new Set(NEMESES.flatMap(({ strikes, strikesSeldom = [] }) => [...strikes, ...strikesSeldom]));
    expect([...STRUCK_FAULTS, ...ENSEMBLE_EFFECTS].filter((effect) => !claimed.has(effect))).toEqual([]);
  });

  it('says of each by what it is known to have struck', () => {
    expect(NEMESES.flatMap(({ kind, strikes }) => (strikes.length === 0 ? kind : []))).toEqual([]);
    expect(effectsOf('stop')).toEqual(['terminated']);
    expect(effectsOf('cut')).toEqual(['frame-held-by-cut', 'retransmission-lost']);
  });

  it('draws each that a simulation can inflict into some scenario, by itself or with what it belongs to', () => {
    const drawn = new Set(
      Array.from({ length: 300 }, (_, n) => drawScenario(n + 1).faults.map(({ kind }) => kind)).flat(),
    );
    const missing = NEMESES.filter(({ kind }) => !(drawn as Set<string>).has(kind));
    expect(missing.map(({ kind, needs }) => [kind, needs])).toEqual([
      ['second-start', ['twins']],
      ['change-version', ['versions']],
    ]);
    expect(NEMESES.filter((each) => (each.draw === undefined) !== (each.oneIn === undefined))).toEqual([]);
  });
});

describe('a nemesis with a stream of its own', () => {
  const strobe = nemesis({
    kind: 'strobe',
    lasts: true,
    fields: {},
    needs: ['clocks'],
    oneIn: 2,
    ownStream: true,
    strikes: ['wall-jump'],
    draw: ({ lasting }) => [{ kind: 'strobe', ...lasting }],
    begin: () => undefined,
  });

  it('is drawn into some scenarios, and shifts no draw of another nemesis', () => {
    let drawn = 0;
    for (const seed of SEEDS) {
      const scenario = drawScenario(seed);
      const { faults, ...rest } = withOwnStreams(scenario, (name) => new SimWorld({ seed }).random(name), [
        ...NEMESES.filter(({ ownStream }) => ownStream !== true),
        strobe,
      ]);
      const kinds = faults.map(({ kind }): string => kind);
      if (kinds.includes('strobe')) drawn += 1;
      expect(faults.filter(({ kind }) => (kind as string) !== 'strobe')).toEqual(scenario.faults);
      expect({ ...rest, faults: scenario.faults }).toEqual(scenario);
    }
    expect(drawn).toBeGreaterThan(SEEDS.length / 4);
    expect(drawn).toBeLessThan(SEEDS.length);
  });
});
