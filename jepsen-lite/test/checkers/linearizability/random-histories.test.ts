import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { checkLinearizable } from '../../../src/checkers/linearizability/linearizable.ts';
import { isAnswer, MODELS, type ModelName } from '../../../src/models/index.ts';
import { explained, modelOf, randomHistories } from '../../support/random-operations.ts';

const NAMES = Object.keys(MODELS) as ModelName[];
const RUNS = 1_500;
/** Fixed, since so many of each verdict are demanded. */
const SEED = 1;

describe.each(NAMES)('the checker, with the model %s,', (name) => {
  it('says of small histories what trying every order says', () => {
    const seen = { valid: 0, invalid: 0, unknown: 0 };
    fc.assert(
      fc.property(randomHistories(name), ({ operations, lies }) => {
        const { type } = checkLinearizable(operations, modelOf(name));
        seen[type] += 1;
        const isPossible = explained(operations, modelOf(name));
        if (lies === 0) expect(isPossible).toBe(true);
        expect(type).toBe(operations.some(isAnswer) ? (isPossible ? 'valid' : 'invalid') : 'unknown');
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(RUNS / 100);
  });

  it('names a prefix that is in order, and an operation that nothing can follow it with', () => {
    let invalid = 0;
    fc.assert(
      fc.property(randomHistories(name), ({ operations }) => {
        const result = checkLinearizable(operations, modelOf(name));
        if (result.type !== 'invalid') return;
        invalid += 1;
        const { prefix, stuck, state, concurrent } = result.found;
        const model = modelOf(name);
        let replayed = model.initial;
        for (const [place, { operation }] of prefix.entries()) {
          const after = model.actionOf(operation).step(replayed);
          expect(after).not.toBeUndefined();
          replayed = after;
          // In real time none of the prefix came before what it follows there.
          expect(prefix.slice(0, place).filter((each) => each.operation.invokedAt > operation.returnedAt)).toEqual([]);
        }
        expect(model.describe(replayed)).toBe(model.describe(state));
        const inPrefix = new Set(prefix.map(({ operation }) => operation));
        expect(inPrefix.size).toBe(prefix.length);
        expect(inPrefix.has(stuck.operation)).toBe(false);
        // Whatever returned before is in it; whatever was called after is not.
        for (const operation of operations) {
          if (operation.returnedAt < stuck.operation.returnedAt) expect(inPrefix.has(operation)).toBe(true);
          if (operation.invokedAt > stuck.operation.returnedAt) expect(inPrefix.has(operation)).toBe(false);
        }
        for (const { operation } of concurrent) expect(inPrefix.has(operation)).toBe(false);
      }),
      { numRuns: RUNS / 2, seed: SEED },
    );
    expect(invalid).toBeGreaterThan(RUNS / 200);
  });
});
