/**
 * The unanswered requests of one connection, as a range of request numbers: clients send them in order and without gaps, and
 * the state machine answers them in order. Knows from which number the client must send again when requests were lost, and
 * keeps out what the client had sent before it heard of that: it would be refused anyway, request for request.
 */

import { MAX_UNANSWERED_REQUESTS } from '../limits.ts';

export type Admission = 'submit' | 'drop' | 'overflow';

export class RequestWindow {
  /** Lowest and highest unanswered number; empty when lowest > highest. */
  #lowest = 1;
  #highest = 0;
  #count = 0;
  /** The number that a resend asked for and that has not come yet; 0 for none. */
  #awaited = 0;
  /** The highest number that was answered here. */
  #answered = 0;

  get isEmpty(): boolean {
    return this.#lowest > this.#highest;
  }

  received(number: number): Admission {
    // A copy that was on its way when the answer left. It gets the same answer; should it be lost, nothing may wait for it, since the
    // client will not send it once more.
    if (number <= this.#answered) return 'submit';
    if (this.#awaited !== 0) {
      if (number > this.#awaited) return 'drop';
      this.#awaited = 0;
    }
    if (this.#count >= MAX_UNANSWERED_REQUESTS) return 'overflow';
    this.#count += 1;
    if (this.isEmpty) {
      this.#lowest = number;
      this.#highest = number;
    } else {
      this.#lowest = Math.min(this.#lowest, number);
      this.#highest = Math.max(this.#highest, number);
    }
    return 'submit';
  }

  answered(number: number): void {
    if (number <= this.#answered) return;
    this.#answered = number;
    if (this.#count > 0) this.#count -= 1;
    if (number >= this.#lowest) this.#lowest = number + 1;
    // A copy from before the resend was applied after all: the client goes on behind it.
    if (this.#awaited !== 0 && number >= this.#awaited) this.#awaited = number + 1;
    if (this.isEmpty) this.#count = 0;
  }

  /** True when a request of that number waits for its answer. */
  covers(number: number): boolean {
    return number >= this.#lowest && number <= this.#highest;
  }

  /**
   * Forgets what is unanswered, because it is lost or may be, and returns the number from which the client must send again.
   * Undefined when nothing is unanswered. `atMost`: what the state machine says that it applies next.
   */
  resend(atMost = Number.MAX_SAFE_INTEGER): number | undefined {
    if (this.isEmpty) return undefined;
    this.#awaited = Math.min(this.#lowest, atMost);
    this.#forget();
    return this.#awaited;
  }

  /** The session is over, or another begins. */
  reset(): void {
    this.#awaited = 0;
    this.#answered = 0;
    this.#forget();
  }

  #forget(): void {
    this.#highest = this.#lowest - 1;
    this.#count = 0;
  }
}
