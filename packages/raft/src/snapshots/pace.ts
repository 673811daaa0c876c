/**
 * Spreads what is sent over time: whoever sends so many bytes next waits until the ones before have had their share, and until the
 * event loop has had more time for everything else than sending them took.
 */

import type { Clock } from '@holdfast/runtime';
import { SLICE_REST_FACTOR } from './snapshot-options.ts';

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

  /** Runs what sends them. */
  sending(send: () => void): void {
    const begunMs = this.#clock.monotonicMs();
    send();
    const endedMs = this.#clock.monotonicMs();
    this.#freeAtMs = Math.max(this.#freeAtMs, endedMs + SLICE_REST_FACTOR * (endedMs - begunMs));
  }
}
