/**
 * Time and the event loop as seen by Holdfast. Two clocks, because neither is enough: the monotonic one never jumps
 * but stops while a laptop sleeps; the wall clock goes on but may be set. Nothing above `runtime` reads any other.
 */

export interface Timer {
  /** Idempotent; a cancelled timer never fires. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds, fractions allowed, from an arbitrary origin; never goes back. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch; may jump either way. */
  wallMs(): number;
  /**
   * Calls `callback` once, not before `delayMs` have passed by the monotonic clock; late by any amount when the event loop is busy,
   * and never in the present turn. A pending timer keeps the process alive.
   */
  setTimer(delayMs: number, callback: () => void): Timer;
  /**
   * Calls `callback` in the check phase of the present turn: after every socket that was readable has been read.
   * Work that arrived with many messages becomes one batch here; in a microtask it would be one batch a message.
   */
  afterPoll(callback: () => void): void;
}
