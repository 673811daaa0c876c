import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { judgeInstall, judgeRead, judgeWrite, NEW_FENCE } from '../src/fence.ts';
import type { Fence } from '../src/fence.ts';

const token = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const fence = fc.record({
  highest: fc.nat({ max: 1_000_000 }),
  tokens: fc.constantFrom('required' as const, 'optional' as const),
});

describe('the fence rule', () => {
  it('lets through a sequence of tokens exactly where none falls below the highest before it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 })), (tokens) => {
        let state: Fence = NEW_FENCE;
        let highest = 0;
        for (const presented of tokens) {
          const verdict = judgeWrite('b', state, presented);
          expect(verdict.pass).toBe(presented >= highest);
          if (verdict.pass) state = { ...state, highest: verdict.highest };
          highest = Math.max(highest, presented);
          expect(state.highest).toBe(highest);
        }
      }),
    );
  });

  it('installs with a write what it installs alone', () => {
    fc.assert(
      fc.property(fence, token, (state, presented) => {
        expect(judgeWrite('b', state, presented)).toEqual(judgeInstall(state, presented));
      }),
    );
  });

  it('never lets a read move the highest token', () => {
    fc.assert(
      fc.property(fence, fc.option(token, { nil: undefined }), (state, presented) => {
        const verdict = judgeRead(state, presented);
        if (verdict.pass) expect(verdict.highest).toBe(state.highest);
        else expect(presented).not.toBe(state.highest);
      }),
    );
  });

  it('tells a stale read from one whose token was not installed', () => {
    const state = { ...NEW_FENCE, highest: 57 };
    expect(judgeRead(state, 41)).toEqual({ pass: false, refusal: { code: 'STALE_TOKEN', presented: 41, highest: 57 } });
    expect(judgeRead(state, 58)).toEqual({
      pass: false,
      refusal: { code: 'TOKEN_NOT_INSTALLED', presented: 58, highest: 57 },
    });
    expect(judgeRead(state, 57).pass).toBe(true);
  });

  it('demands a token for a write unless the bucket says that it is optional', () => {
    expect(judgeWrite('b', NEW_FENCE, undefined)).toEqual({
      pass: false,
      refusal: { code: 'TOKEN_REQUIRED', bucket: 'b' },
    });
    expect(judgeWrite('b', { highest: 57, tokens: 'optional' }, undefined)).toEqual({ pass: true, highest: 57 });
    expect(judgeWrite('b', { highest: 57, tokens: 'optional' }, 41).pass).toBe(false);
  });
});
