/**
 * Whether waiting has paid lately. Where it fails more than one time in five it is given up for a while, and for longer and longer as
 * long as it goes on to fail.
 */

const MAX_CREDIT = 32;
/** What one wait in vain costs, in waits that were worth it. */
const COST = 4;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

export class WaitingCredit {
  #credit = COST;
  #pauseMs = FIRST_PAUSE_MS;
  #pausedUntilMs = -Infinity;

  allows(nowMs: number): boolean {
    return nowMs >= this.#pausedUntilMs;
  }

  gained(): void {
    this.#credit = Math.min(this.#credit + 1, MAX_CREDIT);
    if (this.#credit === MAX_CREDIT) this.#pauseMs = FIRST_PAUSE_MS;
  }

  lost(nowMs: number): void {
    this.#credit -= COST;
    if (this.#credit >= 0) return;
    this.#credit = COST;
    this.#pausedUntilMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
  }
}
