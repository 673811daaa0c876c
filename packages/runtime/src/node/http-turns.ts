/**
 * Turns of the event loop for plain HTTP: what there is to do waits in a queue, and is done for a while in a turn. Beside consensus, which
 * it must not keep waiting however much of it comes, the loop is then left to everything else for several times as long.
 */

import type { Clock, Timer } from '../clock.ts';

/** In a turn of the event loop, unless a single piece of work takes longer. */
export const HTTP_TURN_MS = 2;
/** Then the loop is left without such work for so many times as long as it took. */
export const HTTP_REST_FACTOR = 4;
/** But at most this long, so that a server that is busy with other things answers, too. */
export const MAX_HTTP_REST_MS = 20;

export class HttpTurns {
  readonly #clock: Clock;
  readonly #restFactor: number;
  #waiting: (() => void)[] = [];
  #restUntilMs = -Infinity;
  #timer: Timer | undefined;
  #asked = false;
  #stopped = false;

  /** `restFactor`: 0 where HTTP is all that the process does. */
  constructor(clock: Clock, restFactor = HTTP_REST_FACTOR) {
    this.#clock = clock;
    this.#restFactor = restFactor;
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
    const restMs = this.#restUntilMs - this.#clock.monotonicMs();
    if (restMs > 0) {
      this.#timer = this.#clock.setTimer(restMs, () => {
        this.#timer = undefined;
        this.#askForTurn();
      });
      return;
    }
    this.#asked = true;
    this.#clock.afterPoll(() => {
      this.#asked = false;
      this.#turn();
    });
  }

  #turn(): void {
    const begunAtMs = this.#clock.monotonicMs();
    const waiting = this.#waiting;
    this.#waiting = [];
    let done = 0;
    let tookMs = 0;
    while (done < waiting.length && tookMs < HTTP_TURN_MS && !this.#stopped) {
      waiting[done]?.();
      done += 1;
      tookMs = this.#clock.monotonicMs() - begunAtMs;
    }
    // What has been asked for meanwhile comes behind what waited before it.
    if (!this.#stopped) this.#waiting = [...waiting.slice(done), ...this.#waiting];
    this.#restUntilMs = begunAtMs + tookMs + Math.min(MAX_HTTP_REST_MS, this.#restFactor * tookMs);
    this.#askForTurn();
  }
}
