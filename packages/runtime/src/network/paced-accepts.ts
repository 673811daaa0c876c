/**
 * At what pace a listener takes connections that come faster than it can shake hands: a few in each turn of the event loop, in the order
 * in which they came, fewer when turns take long, so that whoever is connected already is served in between. Who would wait longer than
 * a moment is asked to come again instead, one after another at that pace: no work is done for somebody who has given up.
 */

import type { Clock } from '../clock.ts';

/** Of one turn. */
export const MAX_ACCEPTS_PER_TURN = 16;
const FIRST_ACCEPTS_PER_TURN = 4;
/** A turn that takes longer has half as many in the next one. */
const LONG_TURN_MS = 10;
/** Nobody waits for longer, which is less than any client's patience. No queue shorter than this is worth sending anybody away. */
export const MAX_ACCEPT_WAIT_MS = 500;
const MIN_ACCEPTS_WAITING = 64;
/** A second, until it has been measured. */
export const ASSUMED_ACCEPTS_PER_S = 500;
/** The pace is measured anew after this time of a queue that is never empty. */
const MEASURED_MS = 100;
/** Nobody is asked to come again later than this. */
export const MAX_ACCEPT_AGAIN_MS = 10_000;

export class PacedAccepts {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'afterPoll'>;
  #waiting: (() => void)[] = [];
  /** Those before it were accepted. */
  #next = 0;
  #perTurn = FIRST_ACCEPTS_PER_TURN;
  #acceptedThisTurn = 0;
  #turnScheduled = false;
  #turnFromMs = 0;
  #perSecond = ASSUMED_ACCEPTS_PER_S;
  #measuredFromMs = 0;
  #measured = 0;
  #nextSlotMs = 0;
  #stopped = false;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'afterPoll'>) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  /** `accept` is called in its turn, perhaps at once: undefined. Otherwise never, and the result is the time in which to come again. */
  arrived(accept: () => void): number | undefined {
    if (this.#stopped) return 0;
    this.#scheduleTurn();
    if (this.waiting === 0 && this.#acceptedThisTurn < this.#perTurn) {
      this.#acceptedThisTurn += 1;
      accept();
      return undefined;
    }
    const { waiting } = this;
    if (waiting >= MIN_ACCEPTS_WAITING && waiting >= (this.#perSecond * MAX_ACCEPT_WAIT_MS) / 1_000) {
      return this.#comeAgainInMs();
    }
    if (waiting === 0) this.#measureAnew();
    this.#waiting.push(accept);
    return undefined;
  }

  /** Nobody who waits is accepted any more. */
  stop(): void {
    this.#stopped = true;
    this.#waiting = [];
    this.#next = 0;
  }

  #comeAgainInMs(): number {
    const nowMs = this.#clock.monotonicMs();
    // When those who wait now are through but for half of them, so that the queue does not run dry.
    const soonestMs = nowMs + (this.waiting / this.#perSecond) * 500;
    this.#nextSlotMs = Math.max(this.#nextSlotMs, soonestMs) + 1_000 / this.#perSecond;
    return Math.ceil(Math.min(MAX_ACCEPT_AGAIN_MS, this.#nextSlotMs - nowMs));
  }

  #scheduleTurn(): void {
    if (this.#turnScheduled) return;
    this.#turnScheduled = true;
    this.#turnFromMs = this.#clock.monotonicMs();
    this.#clock.afterPoll(() => this.#turn());
  }

  #turn(): void {
    this.#turnScheduled = false;
    const tookMs = this.#clock.monotonicMs() - this.#turnFromMs;
    if (tookMs > LONG_TURN_MS) this.#perTurn = Math.max(1, this.#perTurn >> 1);
    else this.#perTurn = Math.min(MAX_ACCEPTS_PER_TURN, this.#perTurn + 1);
    this.#acceptedThisTurn = 0;
    if (this.waiting === 0) {
      // Whoever was given a later time comes then; nobody else has to wait for that.
      this.#nextSlotMs = 0;
      return;
    }
    this.#scheduleTurn();
    while (this.#acceptedThisTurn < this.#perTurn && this.waiting > 0) {
      const accept = this.#waiting[this.#next];
      this.#next += 1;
      this.#acceptedThisTurn += 1;
      this.#measured += 1;
      accept?.();
    }
    if (this.waiting === 0 || this.#next > 1_000) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    this.#measure();
  }

  #measure(): void {
    const elapsedMs = this.#clock.monotonicMs() - this.#measuredFromMs;
    if (elapsedMs < MEASURED_MS) return;
    this.#perSecond = Math.max(1, (this.#perSecond + (this.#measured / elapsedMs) * 1_000) / 2);
    this.#measureAnew();
  }

  #measureAnew(): void {
    this.#measuredFromMs = this.#clock.monotonicMs();
    this.#measured = 0;
  }
}
