/**
 * How long the session is certain to live, by this side's clocks. The server counts the session timeout from when it received the
 * renewal; here it counts from when the renewing message was *sent*, shortened for clocks that run at different rates. So the lease
 * ends here before the session can end there.
 */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';
import type { Clock } from '@holdfast/runtime';
import { invariant } from '../invariant.ts';

/** One moment on both clocks. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instantOf(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export class Lease {
  readonly #clock: Clock;
  #durationMs: number;
  #sentAt: Instant;
  #over = false;
  /** What somebody else has renewed beside this thread. */
  #others: (() => Instant | undefined) | undefined;

  /** Over from the beginning, until the first renewal. */
  constructor(clock: Clock, sessionTimeoutMs: number) {
    this.#clock = clock;
    this.#durationMs = leaseMs(sessionTimeoutMs);
    this.#sentAt = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
  }

  /** When the newest message was sent that the ensemble has acknowledged as a renewal; monotonic. */
  get renewedAtMs(): number {
    this.#take();
    return this.#sentAt.monotonicMs;
  }

  setSessionTimeout(sessionTimeoutMs: number): void {
    this.#durationMs = leaseMs(sessionTimeoutMs);
  }

  /** A message sent at that instant was acknowledged. */
  renew(sentAt: Instant): void {
    invariant(!this.#over, 'only-a-living-session-is-renewed');
    if (sentAt.monotonicMs > this.#sentAt.monotonicMs) this.#sentAt = sentAt;
  }

  /** Counts from now on what another thread renews, too; undefined where there is none. What it has renewed by now stays. */
  follow(others: (() => Instant | undefined) | undefined): void {
    this.#take();
    this.#others = others;
  }

  /** The session is over. */
  end(): void {
    this.#over = true;
  }

  /**
   * Zero or less: the session may be over. Elapsed time is the larger of both clocks: the monotonic one stops while a
   * machine sleeps, and the wall clock may be set back.
   */
  remainingMs(): number {
    this.#take();
    const monotonicMs = this.#clock.monotonicMs() - this.#sentAt.monotonicMs;
    invariant(monotonicMs >= 0, 'a-lease-counts-from-the-past');
    return this.#durationMs - Math.max(monotonicMs, this.#clock.wallMs() - this.#sentAt.wallMs);
  }

  #take(): void {
    const instant = this.#others?.();
    if (instant !== undefined && !this.#over && instant.monotonicMs > this.#sentAt.monotonicMs) this.#sentAt = instant;
  }
}

function leaseMs(sessionTimeoutMs: number): number {
  return sessionTimeoutMs * (1 - 2 * MAX_CLOCK_RATE_ERROR);
}
