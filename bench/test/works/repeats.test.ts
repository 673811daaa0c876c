import { describe, expect, it } from 'vitest';

import { isDisturbed } from '../../src/machine/processor-time.ts';
import type { RawWindow } from '../../src/report/result-row.ts';
import { Repeats } from '../../src/works/repeats.ts';
import { rowOf } from '../support/rows.ts';

/** Each takes a second of the clock. */
class Trials {
  taken = 0;
  readonly #shares: readonly number[];

  constructor(shares: readonly number[]) {
    this.#shares = shares;
  }

  nowMs(): number {
    return 1_000 * this.taken;
  }

  take(): Promise<{ readonly window: RawWindow }> {
    const [window] = rowOf('holdfast', [1]).windows;
    const otherCores = this.#shares[this.taken] ?? 0;
    this.taken += 1;
    return Promise.resolve({ window: { ...(window as RawWindow), otherCores, disturbed: otherCores > 0.06 } });
  }
}

describe('a window', () => {
  it('is disturbed when others took more than 6 % of a core, beyond what the counters cannot tell', () => {
    expect(isDisturbed(0.25, 4)).toBe(false);
    expect(isDisturbed(0.27, 4)).toBe(true);
    expect(isDisturbed(0.02, 0.05)).toBe(false);
    expect(isDisturbed(0.03, 0.05)).toBe(true);
  });

  it('is taken again until nobody disturbs it', async () => {
    const trials = new Trials([0.5, 0.3, 0.01, 0]);
    const repeats = new Repeats({ each: 4, inAllMs: 60_000 }, () => trials.nowMs());
    const heard: number[] = [];
    const { window } = await repeats.quietest(
      () => trials.take(),
      (share) => heard.push(share),
    );
    expect(window.otherCores).toBe(0.01);
    expect(trials.taken).toBe(3);
    expect(heard).toEqual([0.5, 0.3]);
  });

  it('is the least disturbed one when all were', async () => {
    const trials = new Trials([0.5, 0.2, 0.3, 0]);
    const repeats = new Repeats({ each: 2, inAllMs: 60_000 }, () => trials.nowMs());
    const { window } = await repeats.quietest(() => trials.take());
    expect(window).toMatchObject({ otherCores: 0.2, disturbed: true });
    expect(trials.taken).toBe(3);
  });
});

describe('a run on a machine that does not get quiet', () => {
  it('repeats windows for so long in all, and then takes them as they are', async () => {
    const trials = new Trials(Array.from({ length: 20 }, () => 0.5));
    const repeats = new Repeats({ each: 4, inAllMs: 6_000 }, () => trials.nowMs());
    const taken: number[] = [];
    for (let window = 0; window < 4; window += 1) {
      const before = trials.taken;
      expect((await repeats.quietest(() => trials.take())).window.disturbed).toBe(true);
      taken.push(trials.taken - before);
    }
    expect(taken).toEqual([5, 3, 1, 1]);
  });
});
