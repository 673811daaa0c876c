/**
 * The limits of all calls of one client under one timer. Adding and removing a limit is a set operation, since nearly every
 * call is answered long before its limit.
 */

import type { Clock } from '@holdfast/runtime';
import { LazyTimer } from '../lazy-timer.ts';
import { SmallMap } from './small-map.ts';

export interface Limited {
  /** Monotonic. */
  readonly expiresAtMs: number;
  expire(): void;
}

/** Limits within this time of each other are looked at together. */
const GRANULARITY_MS = 5;

export class TimeLimits {
  readonly #clock: Clock;
  readonly #limited = new SmallMap<Limited, Limited>();
  readonly #timer: LazyTimer;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timer = new LazyTimer(clock, () => this.#sweep());
  }

  get size(): number {
    return this.#limited.size;
  }

  add(limited: Limited): void {
    if (limited.expiresAtMs === Number.POSITIVE_INFINITY) return;
    this.#limited.set(limited, limited);
    this.#timer.ensure(roundUp(limited.expiresAtMs));
  }

  delete(limited: Limited): void {
    this.#limited.delete(limited);
    if (this.#limited.size === 0 && this.#closed) this.#timer.stop();
  }

  /** From now on an idle timer is stopped at once, so that it does not keep a closed client's process alive. */
  close(): void {
    this.#closed = true;
    if (this.#limited.size === 0) this.#timer.stop();
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const limited of this.#limited.values()) {
      if (limited.expiresAtMs <= nowMs) {
        this.#limited.delete(limited);
        limited.expire();
      } else if (limited.expiresAtMs < nextMs) nextMs = limited.expiresAtMs;
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#timer.ensure(roundUp(nextMs));
  }
}

function roundUp(atMs: number): number {
  return Math.ceil(atMs / GRANULARITY_MS) * GRANULARITY_MS;
}
