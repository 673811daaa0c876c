/**
 * Whether a crowd of sessions is on its way back: very many were attached within the last second, wherever in the ensemble. Where so
 * many have come, more may wait in sockets that nobody has read.
 */

import type { Clock } from '@holdfast/runtime';
import { CROWD_ATTACHES } from '../limits.ts';

const WINDOW_MS = 1_000;

export class ReturningCrowd {
  readonly #clock: Clock;
  #windowFromMs = Number.NEGATIVE_INFINITY;
  #attaches = 0;
  #seenAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get present(): boolean {
    return this.#clock.monotonicMs() - this.#seenAtMs < WINDOW_MS;
  }

  /** An attach was applied. */
  attached(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowFromMs >= WINDOW_MS) {
      this.#windowFromMs = nowMs;
      this.#attaches = 0;
    }
    this.#attaches += 1;
    if (this.#attaches >= CROWD_ATTACHES) this.#seenAtMs = nowMs;
  }
}
