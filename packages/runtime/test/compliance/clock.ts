/** What every Clock must do. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/index.ts';
import type { Fixture } from './fixture.ts';

export interface ClockFixture extends Fixture {
  readonly clock: Clock;
}

export function clockCompliance(name: string, setup: () => Promise<ClockFixture>): void {
  describe(`the clock of the ${name} runtime`, () => {
    let fixture: ClockFixture;
    beforeEach(async () => {
      fixture = await setup();
    });
    afterEach(() => fixture.teardown());

    it('never fires a timer before its delay has passed', async () => {
      const { clock } = fixture;
      const early: number[] = [];
      let fired = 0;
      for (const delayMs of [0, 0.3, 1, 1.7, 5, 10.5, 20]) {
        const startMs = clock.monotonicMs();
        clock.setTimer(delayMs, () => {
          fired += 1;
          if (clock.monotonicMs() - startMs < delayMs) early.push(delayMs);
        });
      }
      await fixture.until(() => fired === 7);
      expect(early).toEqual([]);
    });

    it('never fires a cancelled timer, and lets it be cancelled again', async () => {
      const { clock } = fixture;
      const fired: string[] = [];
      const first = clock.setTimer(5, () => fired.push('first'));
      const second = clock.setTimer(25, () => fired.push('second'));
      clock.setTimer(5, () => second.cancel());
      clock.setTimer(50, () => fired.push('last'));
      first.cancel();
      first.cancel();
      await fixture.until(() => fired.includes('last'));
      second.cancel();
      expect(fired).toEqual(['last']);
    });

    it('fires a timer once, and cancelling it afterwards does nothing', async () => {
      const { clock } = fixture;
      let fired = 0;
      let ended = false;
      const timer = clock.setTimer(1, () => {
        fired += 1;
        timer.cancel();
      });
      clock.setTimer(20, () => (ended = true));
      await fixture.until(() => ended);
      expect(fired).toBe(1);
    });

    it('takes delays that are longer than a Node timer', async () => {
      const { clock } = fixture;
      const fired: string[] = [];
      const long = clock.setTimer(2 ** 31 + 5, () => fired.push('long'));
      clock.setTimer(20, () => fired.push('short'));
      await fixture.until(() => fired.length > 0);
      long.cancel();
      expect(fired).toEqual(['short']);
    });

    it('calls back after the poll, not in the same turn and not in a microtask', async () => {
      const { clock } = fixture;
      const order: string[] = [];
      clock.setTimer(1, () => {
        clock.afterPoll(() => order.push('after poll'));
        void Promise.resolve().then(() => order.push('microtask'));
        order.push('turn');
      });
      await fixture.until(() => order.length === 3);
      expect(order).toEqual(['turn', 'microtask', 'after poll']);
    });

    it('calls back after the poll in the order of the calls', async () => {
      const { clock } = fixture;
      const order: number[] = [];
      for (const n of [1, 2, 3]) clock.afterPoll(() => order.push(n));
      await fixture.until(() => order.length === 3);
      expect(order).toEqual([1, 2, 3]);
    });

    it('has a monotonic clock that does not go back and a wall clock in milliseconds since 1970', async () => {
      const { clock } = fixture;
      const seen: number[] = [];
      const look = () => {
        seen.push(clock.monotonicMs());
        if (seen.length < 5) clock.setTimer(2, look);
      };
      look();
      await fixture.until(() => seen.length === 5);
      expect(seen.toSorted((a, b) => a - b)).toEqual(seen);
      expect(new Set(seen).size).toBe(5);
      expect(clock.wallMs()).toBeGreaterThan(1_700_000_000_000);
    });

    it('refuses a delay that is not a number', () => {
      expect(() => fixture.clock.setTimer(NaN, () => {})).toThrow(TypeError);
    });
  });
}
