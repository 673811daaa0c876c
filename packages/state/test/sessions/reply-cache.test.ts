import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_REMEMBERED_REPLIES, type Reply } from '@holdfast/protocol';
import { STATE_LIMITS } from '../../src/limits.ts';
import { ReplyBudget } from '../../src/sessions/reply-budget.ts';
import { ReplyCache } from '../../src/sessions/reply-cache.ts';

function answerTo(number: number): Reply {
  return { type: 'acquire', acquireIndex: number, token: number };
}

/** So many requests are applied, or answers up to so many before the last are acknowledged. */
const step = fc.oneof(
  fc.record({ apply: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ keep: fc.integer({ min: 0, max: 150 }) }),
);

describe('the reply cache of a session', () => {
  it('has the answer to every request that was applied and is not acknowledged, whatever came before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = new ReplyCache(new ReplyBudget(STATE_LIMITS));
        let applied = 0;
        let forgotten = 0;
        for (const one of steps) {
          if ('apply' in one) {
            for (let more = one.apply; more > 0 && !cache.full; more -= 1) {
              applied += 1;
              cache.add(answerTo(applied));
            }
          } else {
            forgotten = Math.max(forgotten, applied - one.keep);
            cache.evictUpTo(applied - one.keep);
          }
          const kept = Array.from({ length: applied - forgotten }, (_, n) => answerTo(forgotten + 1 + n));
          expect(cache.answers()).toEqual(kept);
          expect(cache.lastApplied).toBe(applied);
          expect(cache.full).toBe(applied - forgotten >= MAX_REMEMBERED_REPLIES);
          expect(cache.get(forgotten)).toBeUndefined();
          expect(cache.get(applied + 1)).toBeUndefined();
          for (let number = forgotten + 1; number <= applied; number += 1) {
            expect(cache.get(number)).toEqual(answerTo(number));
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('goes on behind what it was restored with', () => {
    const cache = new ReplyCache(new ReplyBudget(STATE_LIMITS));
    cache.restore(7, [answerTo(6), answerTo(7)]);
    cache.add(answerTo(8));
    expect(cache.answers()).toEqual([answerTo(6), answerTo(7), answerTo(8)]);
    cache.evictUpTo(8);
    expect(cache.answers()).toEqual([]);
    cache.add(answerTo(9));
    expect(cache.get(9)).toEqual(answerTo(9));
    expect(cache.get(8)).toBeUndefined();
  });
});
