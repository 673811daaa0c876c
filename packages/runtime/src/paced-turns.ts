/**
 * Turns of the event loop for work that must not keep anything else waiting however much of it comes: it waits in a queue, is done for a
 * while in a turn, and then the loop is left to everything else for several times as long.
 */

import type { Clock, Timer } from './clock.ts';
import { Throttle } from './throttle.ts';

/** In a turn of the event loop, unless a single piece of work takes longer. */
export const PACED_TURN_MS = 2;
/** Then the loop is left without such work for so many times as long as it took. */
export const REST_FACTOR = 4;
/** But at most this long, so that a server that is busy with other things answers, too. */
export const MAX_REST_MS = 20;

export class PacedTurns {
  readonly #clock: Clock;
  readonly #restFactor: number;
  readonly #throttle: Throttle;
  #waiting: (() => void)[] = [];
  /** Since the last rest, and until when. */
  #usedMs = 0;
  #lastMs = -Infinity;
  #timer: Timer | undefined;
  #asked = false;
  #stopped = false;

  /** `restFactor`: 0 leaves the loop to the sockets only, between two turns. */
  constructor(clock: Clock, restFactor = REST_FACTOR) {
    this.#clock = clock;
    this.#restFactor = restFactor;
    this.#throttle = new Throttle({ restFactor, maxRestMs: MAX_REST_MS }, clock);
  }

  /** In the order in which it was asked for, and never in the present turn. */
  add(work: () => void): void {
    this.#waiting.push(work);
    this.#askForTurn();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#waiting = [];
  }

  #askForTurn(): void {
    if (this.#asked || this.#timer !== undefined || this.#stopped || this.#waiting.length === 0) return;
    const restMs = this.#throttle.waitMs();
    if (restMs > 0) {
      this.#timer = this.#clock.setTimer(restMs, () => {
        this.#timer = undefined;
        this.#askForTurn();
      });
      return;
    }
    this.#asked = true;
    this.#clock.afterPoll(() => {
      try {
        this.#turn();
      } finally {
        // Not before: work that asks for more work must not make a turn of its own without a rest.
        this.#asked = false;
        this.#askForTurn();
      }
    });
  }

  #turn(): void {
    const begunAtMs = this.#clock.monotonicMs();
    if (begunAtMs - this.#lastMs >= this.#restFactor * this.#usedMs) this.#usedMs = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    let done = 0;
    let tookMs = 0;
    while (done < waiting.length && this.#usedMs + tookMs < PACED_TURN_MS && !this.#stopped) {
      waiting[done]?.();
      done += 1;
      tookMs = this.#clock.monotonicMs() - begunAtMs;
    }
    // What has been asked for meanwhile comes behind what waited before it.
    if (!this.#stopped) this.#waiting = [...waiting.slice(done), ...this.#waiting];
    this.#usedMs += tookMs;
    this.#lastMs = begunAtMs + tookMs;
    // Little work is not worth a rest each time, which a timer makes a millisecond at least.
    if (this.#usedMs < PACED_TURN_MS) return;
    this.#throttle.worked(this.#usedMs);
    this.#usedMs = 0;
  }
}
