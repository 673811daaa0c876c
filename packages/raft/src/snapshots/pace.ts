/** Spreads bytes over time: whoever sends so many next waits until the ones before have had their share. */

import type { Clock } from '@holdfast/runtime';

export class Pace {
  readonly #bytesPerMs: number;
  readonly #clock: Clock;
  #freeAtMs = 0;

  constructor(bytesPerSecond: number, clock: Clock) {
    this.#bytesPerMs = bytesPerSecond / 1_000;
    this.#clock = clock;
  }

  /** Resolves when `bytes` may go. */
  async take(bytes: number): Promise<void> {
    const now = this.#clock.monotonicMs();
    const atMs = Math.max(now, this.#freeAtMs);
    this.#freeAtMs = atMs + bytes / this.#bytesPerMs;
    if (atMs > now) await new Promise<void>((resolve) => this.#clock.setTimer(atMs - now, resolve));
  }
}
