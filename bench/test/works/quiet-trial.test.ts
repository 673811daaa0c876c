import { describe, expect, it } from 'vitest';

import { isDisturbed } from '../../src/machine/processor-time.ts';
import type { RawWindow } from '../../src/report/result-row.ts';
import { quietTrial } from '../../src/works/single-window.ts';
import { rowOf } from '../support/rows.ts';

function trials(shares: readonly number[]): { take(): Promise<RawWindow>; taken: number } {
  const [window] = rowOf('holdfast', [1]).windows;
  const state = {
    taken: 0,
    take(): Promise<RawWindow> {
      const otherCores = shares[state.taken] ?? 0;
      state.taken += 1;
      return Promise.resolve({ ...(window as RawWindow), otherCores, disturbed: otherCores > 0.06 });
    },
  };
  return state;
}

describe('a window', () => {
  it('is disturbed when others took more than 6 % of a core, beyond what the counters cannot tell', () => {
    expect(isDisturbed(0.25, 4)).toBe(false);
    expect(isDisturbed(0.27, 4)).toBe(true);
    expect(isDisturbed(0.02, 0.05)).toBe(false);
    expect(isDisturbed(0.03, 0.05)).toBe(true);
  });
});

describe('a trial', () => {
  it('is taken again until nobody disturbs it', async () => {
    const state = trials([0.5, 0.3, 0.01, 0]);
    expect((await quietTrial(4, () => state.take())).otherCores).toBe(0.01);
    expect(state.taken).toBe(3);
  });

  it('is the least disturbed one when all were', async () => {
    const state = trials([0.5, 0.2, 0.3, 0]);
    const window = await quietTrial(2, () => state.take());
    expect(window).toMatchObject({ otherCores: 0.2, disturbed: true });
    expect(state.taken).toBe(3);
  });
});
