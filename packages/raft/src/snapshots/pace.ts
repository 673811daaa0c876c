/**
 * Spreads what is sent over time: whoever sends so many bytes next waits until the ones before have had their share, and until the
 * event loop has had more time for everything else than sending them took. What is urgent waits for neither.
 */

import type { Clock } from '@holdfast/runtime';
import { SLICE_REST_FACTOR, URGENCY_LOOK_MS } from './snapshot-options.ts';

export class Pace {
  readonly #bytesPerMs: number;
  readonly #clock: Clock;
  #freeAtMs = 0;

  constructor(bytesPerSecond: number, clock: Clock) {
    this.#bytesPerMs = bytesPerSecond / 1_000;
    this.#clock = clock;
  }

  /** Resolves when `bytes` may go: soon, once they are urgent. */
  async take(bytes: number, urgent: () => boolean): Promise<void> {
    const begunMs = this.#clock.monotonicMs();
    const atMs = Math.max(begunMs, this.#freeAtMs);
    this.#freeAtMs = atMs + bytes / this.#bytesPerMs;
    for (let now = begunMs; now < atMs && !urgent(); now = this.#clock.monotonicMs()) {
      await this.#pass(Math.min(atMs - now, URGENCY_LOOK_MS));
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(ms, resolve));
  }

  /** Runs what sends them. */
  sending(send: () => void): void {
    const begunMs = this.#clock.monotonicMs();
    send();
    const endedMs = this.#clock.monotonicMs();
    this.#freeAtMs = Math.max(this.#freeAtMs, endedMs + SLICE_REST_FACTOR * (endedMs - begunMs));
  }
}
