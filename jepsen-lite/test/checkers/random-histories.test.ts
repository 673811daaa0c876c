import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { CHECKERS, checkHistory } from '../../src/checkers/check.ts';
import type { History } from '../../src/history/history.ts';
import { CORRUPTIONS, type Corruption } from '../support/corruptions/index.ts';
import { RandomWorld } from '../support/random-world.ts';

const seeds = fc.integer();

describe('a history of a world that keeps every promise', () => {
  it('is broken by no checker', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 0, max: 1_500 }), (seed, steps) => {
        const history = new RandomWorld(seed, steps).run();
        expect(checkHistory(history).filter((verdict) => verdict.broken.length > 0)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('leaves no checker without something to check', () => {
    const checked = new Set<string>();
    for (let seed = 1; seed <= 5; seed += 1) {
      for (const { checker, valid } of checkHistory(new RandomWorld(seed, 1_500).run())) {
        if (valid === true) checked.add(checker);
      }
    }
    expect([...checked].sort()).toEqual(Object.keys(CHECKERS).sort());
  });

  it('has writes at the store without a fence that a fence would have refused', () => {
    const counts = Array.from(
      { length: 60 },
      (_, seed) => CHECKERS.unfenced(new RandomWorld(seed, 1_500).run()).counts,
    );
    expect(counts.some(({ staleWrites }) => (staleWrites ?? 0) > 0)).toBe(true);
    expect(counts.some(({ lostUpdates }) => (lostUpdates ?? 0) > 0)).toBe(true);
  });
});

interface Drawn {
  readonly seed: number;
  readonly steps: number;
  /** Which of the places of a corruption. */
  readonly choice: number;
}

/** Other ones with each run. Each corruption has them all: to make one takes longer than to corrupt and to check it. */
const DRAWN: readonly (Drawn & { readonly history: History })[] = fc
  .sample(fc.record({ seed: seeds, steps: fc.integer({ min: 600, max: 1_500 }), choice: fc.nat() }), 60)
  .map((drawn) => ({ ...drawn, history: Object.freeze(new RandomWorld(drawn.seed, drawn.steps).run()) }));

describe('a single corruption of a proper history', () => {
  it.each(CORRUPTIONS)('$what is seen by the checker "$caughtBy"', ({ corrupt, caughtBy }: Corruption) => {
    let corrupted = 0;
    for (const { history, ...drawn } of DRAWN) {
      const damaged = corrupt(history, (candidates) => candidates[drawn.choice % Math.max(1, candidates.length)]);
      if (damaged === undefined) continue;
      corrupted += 1;
      const verdict = CHECKERS[caughtBy](damaged);
      expect(verdict.valid, JSON.stringify(drawn)).toBe(false);
      expect(verdict.broken[0]?.events.length, JSON.stringify(drawn)).toBeGreaterThan(0);
    }
    // Rare things are in a third of the histories.
    expect(corrupted).toBeGreaterThan(4);
  });
});
