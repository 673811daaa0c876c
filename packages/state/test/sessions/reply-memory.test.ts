import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_REMEMBERED_REPLIES, type Reply } from '@holdfast/protocol';
import { STATE_LIMITS } from '../../src/limits.ts';
import { ReplyBudget } from '../../src/sessions/reply-budget.ts';
import { ReplyMemory } from '../../src/sessions/reply-memory.ts';

function answerTo(number: number): Reply {
  return { type: 'acquire', acquireIndex: number, token: number };
}

/** So many requests are applied, or answers up to so many before the last are acknowledged. */
const step = fc.oneof(
  fc.record({ apply: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ keep: fc.integer({ min: 0, max: 150 }) }),
);

describe('the memory of a session', () => {
  it('has the answer to every request that was applied and is not acknowledged, whatever came before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const memory = new ReplyMemory(new ReplyBudget(STATE_LIMITS));
        let applied = 0;
        let forgotten = 0;
        for (const one of steps) {
          if ('apply' in one) {
            for (let more = one.apply; more > 0 && !memory.full; more -= 1) {
              applied += 1;
              memory.remember(answerTo(applied));
            }
          } else {
            forgotten = Math.max(forgotten, applied - one.keep);
            memory.forgetUpTo(applied - one.keep);
          }
          const kept = Array.from({ length: applied - forgotten }, (_, n) => answerTo(forgotten + 1 + n));
          expect(memory.answers()).toEqual(kept);
          expect(memory.lastApplied).toBe(applied);
          expect(memory.full).toBe(applied - forgotten >= MAX_REMEMBERED_REPLIES);
          expect(memory.recall(forgotten)).toBeUndefined();
          expect(memory.recall(applied + 1)).toBeUndefined();
          for (let number = forgotten + 1; number <= applied; number += 1) {
            expect(memory.recall(number)).toEqual(answerTo(number));
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('goes on behind what it was restored with', () => {
    const memory = new ReplyMemory(new ReplyBudget(STATE_LIMITS));
    memory.restore(7, [answerTo(6), answerTo(7)]);
    memory.remember(answerTo(8));
    expect(memory.answers()).toEqual([answerTo(6), answerTo(7), answerTo(8)]);
    memory.forgetUpTo(8);
    expect(memory.answers()).toEqual([]);
    memory.remember(answerTo(9));
    expect(memory.recall(9)).toEqual(answerTo(9));
    expect(memory.recall(8)).toBeUndefined();
  });
});
