/**
 * Whether this server is of use: whether it has known a leader within the last two election timeouts (a leader without its
 * quorum steps down by itself within one, and is of no use at once: the others may have elected another by then). A server that
 * is of none sends its clients away, so that they look elsewhere.
 */

import type { Clock, Timer } from '@holdfast/runtime';

export class LeaderContact {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #lost: () => void;
  #timer: Timer | undefined;
  #known = false;
  #isLost = false;

  /** `lost` is called each time when no leader has been known for twice the election timeout, and by {@link loseNow}. */
  constructor(options: { readonly electionTimeoutMs: number }, lost: () => void, clock: Clock) {
    this.#clock = clock;
    this.#limitMs = 2 * options.electionTimeoutMs;
    this.#lost = lost;
    this.#startTimer();
  }

  /** False from `lost` until a leader is known again. */
  get serving(): boolean {
    return !this.#isLost;
  }

  leaderKnown(known: boolean): void {
    if (known === this.#known) return;
    this.#known = known;
    if (known) {
      this.#isLost = false;
      this.stop();
    } else {
      this.#startTimer();
    }
  }

  /** Without waiting: no leader is known, and it is not to be expected that one will be. */
  loseNow(): void {
    if (this.#known || this.#isLost) return;
    this.stop();
    this.#isLost = true;
    this.#lost();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #startTimer(): void {
    this.#timer = this.#clock.setTimer(this.#limitMs, () => {
      this.#timer = undefined;
      this.#isLost = true;
      this.#lost();
    });
  }
}
