/**
 * When turns are taken: in the check phase of the event loop after anything has asked for one, and when the core's deadline has come.
 * However much arrives meanwhile, it is one turn.
 */

import type { Clock, Timer } from '@holdfast/runtime';

export interface TurnScheduleParts {
  readonly clock: Clock;
  /** When a turn is due though nothing has arrived. */
  deadline(): number;
  turn(): void;
  /** Whether a turn has left or made something to do. */
  hasWork(): boolean;
  failed(error: unknown): void;
}

export class TurnSchedule {
  readonly #parts: TurnScheduleParts;
  #running = false;
  #scheduled = false;
  #inTurn = false;
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(parts: TurnScheduleParts) {
    this.#parts = parts;
  }

  get running(): boolean {
    return this.#running;
  }

  start(): void {
    this.#running = true;
    this.wake();
  }

  /** No turn is taken any more. */
  stop(): void {
    this.#running = false;
    this.#timer?.cancel();
  }

  /** A turn is needed. */
  wake(): void {
    // What arrives within a turn is looked at when it ends.
    if (this.#scheduled || this.#inTurn || !this.#running) return;
    this.#scheduled = true;
    this.#parts.clock.afterPoll(() => {
      this.#scheduled = false;
      if (!this.#running) return;
      this.#inTurn = true;
      try {
        this.#parts.turn();
        this.#armTimer();
      } catch (error) {
        this.#parts.failed(error);
      } finally {
        this.#inTurn = false;
      }
      if (this.#parts.hasWork()) this.wake();
    });
  }

  /** One timer, only ever moved to an earlier time; one that comes too early arms the next. */
  #armTimer(): void {
    const { clock } = this.#parts;
    const deadline = this.#parts.deadline();
    if (this.#timerAt <= deadline) return;
    this.#timer?.cancel();
    this.#timerAt = deadline;
    this.#timer = clock.setTimer(Math.max(0, deadline - clock.monotonicMs()), () => {
      this.#timerAt = Infinity;
      // Set for a deadline that has moved on since: there is nothing to do before the present one.
      if (clock.monotonicMs() < this.#parts.deadline()) this.#armTimer();
      else this.wake();
    });
  }
}
