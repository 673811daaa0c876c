/**
 * Lets a simulated world keep pace with the real clock, so that what a test awaits simply happens; and lets a test turn its clock
 * further. What is due is done at once: a call takes no virtual time unless something in it waits for a timer.
 */

import type { SimWorld } from '@holdfast/runtime/sim';
import { realNowMs, realTimer, type RealTimer } from './real-time.ts';

/** The longest that virtual time stands still while nothing is due, so that what reads the clock is not far behind. */
const MAX_STANDSTILL_MS = 20;

export class Pace {
  readonly #world: SimWorld;
  /** Virtual less real time. */
  #aheadMs: number;
  #timer: RealTimer | undefined;
  #timerDueMs = 0;
  /** The last of the runs that wait for each other: a world runs once at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #stopped = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(world: SimWorld) {
    this.#world = world;
    this.#aheadMs = world.nowMs - realNowMs();
    world.onScheduled(() => this.#wakeAt(world.nowMs));
  }

  /** Time passes by itself from now on. */
  start(): void {
    this.#wakeAt(this.#world.nowMs);
  }

  /** Turns the clock forward; everything that is due on the way happens on the way. */
  async advance(ms: number): Promise<void> {
    await this.#exclusively(() => this.#world.run({ forMs: ms }));
  }

  /** Turns the clock forward until the promise is settled, and gives its outcome. */
  async complete<T>(promise: Promise<T>, maxMs: number): Promise<T> {
    return this.#exclusively(() => this.#world.complete(promise, { maxMs }));
  }

  async until(condition: () => boolean, maxMs: number): Promise<void> {
    await this.#exclusively(() => this.#world.run({ until: condition, maxMs }));
  }

  /** Nothing happens in the world any more. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #exclusively<T>(run: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const before = this.#last;
    const running = (async () => {
      await before;
      if (this.#failure !== undefined) throw this.#failure.error;
      return await run();
    })();
    const settled = running.then(
      () => {},
      () => {},
    );
    this.#last = settled;
    await settled;
    this.#waiting -= 1;
    this.#aheadMs = Math.max(this.#aheadMs, this.#world.nowMs - realNowMs());
    this.#wakeAt(this.#world.nextMs ?? Infinity);
    return running;
  }

  /** Arms the timer for that virtual time, unless it is armed for an earlier one. */
  #wakeAt(virtualMs: number): void {
    if (this.#stopped || this.#waiting > 0) return;
    if (this.#timer !== undefined) {
      if (this.#timerDueMs <= virtualMs) return;
      this.#timer.cancel();
    }
    this.#timerDueMs = virtualMs;
    this.#timer = realTimer(Math.min(MAX_STANDSTILL_MS, virtualMs - this.#aheadMs - realNowMs()), () => {
      this.#timer = undefined;
      void this.#keepPace();
    });
  }

  async #keepPace(): Promise<void> {
    if (this.#stopped || this.#waiting > 0) return;
    try {
      const untilMs = Math.max(this.#world.nowMs, realNowMs() + this.#aheadMs);
      await this.#exclusively(() => this.#world.run({ untilMs }));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Nobody may be waiting, or somebody for ever: it has to be heard. */
  #failed(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    this.stop();
    throw error;
  }
}
