import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { judgeInstall, judgeRead, judgeWrite, NEW_FENCE } from '../src/fence.ts';
import type { Claim, Fence } from '../src/fence.ts';

const token = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const claim = fc.record({ token, floor: fc.nat({ max: Number.MAX_SAFE_INTEGER }) }).map((each) => {
  return { ...each, floor: Math.min(each.floor, each.token) };
});
const fence = fc.record({
  highest: fc.nat({ max: 1_000_000 }),
  tokens: fc.constantFrom('required' as const, 'optional' as const),
});

/** Of a lock that is held alone. */
function alone(presented: number): Claim {
  return { token: presented, floor: presented };
}

describe('the fence rule', () => {
  it('lets through a sequence of tokens exactly where none falls below the highest before it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 })), (tokens) => {
        let state: Fence = NEW_FENCE;
        let highest = 0;
        for (const presented of tokens) {
          const verdict = judgeWrite('b', state, alone(presented));
          expect(verdict.pass).toBe(presented >= highest);
          if (verdict.pass) state = { ...state, highest: verdict.highest };
          highest = Math.max(highest, presented);
          expect(state.highest).toBe(highest);
        }
      }),
    );
  });

  it('refuses a token exactly where a higher floor was told before it, whoever told it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.nat({ max: 20 }))), (claims) => {
        let state: Fence = NEW_FENCE;
        let highest = 0;
        for (const [presented, told] of claims) {
          const verdict = judgeWrite('b', state, { token: presented, floor: Math.min(presented, told) });
          expect(verdict.pass).toBe(presented >= highest);
          if (!verdict.pass) continue;
          highest = Math.max(highest, Math.min(presented, told));
          expect(verdict.highest).toBe(highest);
          state = { ...state, highest };
        }
      }),
    );
  });

  it('installs with a write what it installs alone', () => {
    fc.assert(
      fc.property(fence, claim, (state, presented) => {
        expect(judgeWrite('b', state, presented)).toEqual(judgeInstall(state, presented));
      }),
    );
  });

  it('never lets a read move the highest floor', () => {
    fc.assert(
      fc.property(fence, fc.option(claim, { nil: undefined }), (state, presented) => {
        const verdict = judgeRead(state, presented);
        if (verdict.pass) expect(verdict.highest).toBe(state.highest);
        else expect(presented).not.toEqual(alone(state.highest));
      }),
    );
  });

  it('tells a stale read from one whose token was not installed', () => {
    const state = { ...NEW_FENCE, highest: 57 };
    expect(judgeRead(state, alone(41))).toEqual({
      pass: false,
      refusal: { code: 'STALE_TOKEN', presented: 41, highest: 57 },
    });
    expect(judgeRead(state, alone(58))).toEqual({
      pass: false,
      refusal: { code: 'TOKEN_NOT_INSTALLED', presented: 58, highest: 57 },
    });
    expect(judgeRead(state, alone(57)).pass).toBe(true);
  });

  it('lets everybody read whose token is not stale and whose floor is installed', () => {
    const state = { ...NEW_FENCE, highest: 41 };
    expect(judgeRead(state, { token: 57, floor: 41 }).pass).toBe(true);
    expect(judgeRead(state, { token: 57, floor: 0 }).pass).toBe(true);
    expect(judgeRead(state, { token: 57, floor: 42 })).toEqual({
      pass: false,
      refusal: { code: 'TOKEN_NOT_INSTALLED', presented: 42, highest: 41 },
    });
    expect(judgeRead(state, { token: 40, floor: 40 })).toMatchObject({ refusal: { code: 'STALE_TOKEN' } });
  });

  it('refuses a floor that is far above the highest, and lets such a token pass whose floor is not', () => {
    const state = { ...NEW_FENCE, highest: 41 };
    const far = Number.MAX_SAFE_INTEGER;
    expect(judgeWrite('b', state, alone(far))).toMatchObject({ refusal: { code: 'TOKEN_JUMP_REFUSED' } });
    expect(judgeWrite('b', state, { token: far, floor: 42 })).toEqual({ pass: true, highest: 42 });
    expect(judgeWrite('b', state, alone(far), { allowTokenJumps: true })).toEqual({ pass: true, highest: far });
  });

  it('demands a token for a write unless the bucket says that it is optional', () => {
    expect(judgeWrite('b', NEW_FENCE, undefined)).toEqual({
      pass: false,
      refusal: { code: 'TOKEN_REQUIRED', bucket: 'b' },
    });
    expect(judgeWrite('b', { highest: 57, tokens: 'optional' }, undefined)).toEqual({ pass: true, highest: 57 });
    expect(judgeWrite('b', { highest: 57, tokens: 'optional' }, alone(41)).pass).toBe(false);
  });
});
