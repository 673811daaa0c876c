/**
 * One timer for a deadline that mostly moves further away: moving it costs a comparison, not a timer. It may fire before the
 * present deadline, so the callback looks again at what is due and calls `ensure` for the rest.
 */

import type { Clock, Timer } from '@holdfast/runtime';

/** Longer ones make Node's timers fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export class LazyTimer {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #timer: Timer | undefined;
  #atMs = 0;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  get armed(): boolean {
    return this.#timer !== undefined;
  }

  /** Fires no later than `atMs` (monotonic), but for a busy event loop. */
  ensure(atMs: number): void {
    if (this.#timer !== undefined) {
      if (this.#atMs <= atMs) return;
      this.#timer.cancel();
    }
    this.#atMs = atMs;
    this.#timer = this.#clock.setTimer(Math.min(MAX_DELAY_MS, Math.max(0, atMs - this.#clock.monotonicMs())), () => {
      this.#timer = undefined;
      this.#callback();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
