/**
 * Whether to wait for a batch at all. Where waiting was in vain more than one time in five no batch is waited for during a pause, which
 * doubles as long as waiting goes on to be in vain.
 */

const MAX_SUCCESSES = 32;
/** What one wait in vain costs, in waits that were worth it. */
const COST = 4;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

export class BatchingBackoff {
  #successes = COST;
  #pauseMs = FIRST_PAUSE_MS;
  #pausedUntilMs = -Infinity;

  allows(nowMs: number): boolean {
    return nowMs >= this.#pausedUntilMs;
  }

  succeeded(): void {
    this.#successes = Math.min(this.#successes + 1, MAX_SUCCESSES);
    if (this.#successes === MAX_SUCCESSES) this.#pauseMs = FIRST_PAUSE_MS;
  }

  failed(nowMs: number): void {
    this.#successes -= COST;
    if (this.#successes >= 0) return;
    this.#successes = COST;
    this.#pausedUntilMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
  }
}
