/**
 * The unanswered requests of one connection, as a range of request numbers: clients send them in order and without gaps, and
 * the state machine answers those of one connection in order. Knows from which number the client must send again when requests were lost, and
 * keeps out what the client had sent before it heard of that: it would be refused anyway, request for request. A copy of a request
 * whose answer has left on this connection, or is on its way, is kept out, too: it would make the log longer and tell nobody anything.
 */

import { MAX_UNANSWERED_REQUESTS } from '../limits.ts';
import type { RequestBudget } from './request-budget.ts';

/** `too-much`: it is more than the connection's share of bytes now, and is awaited again. */
export type Admission = 'submit' | 'drop' | 'overflow' | 'too-much';

export class RequestWindow {
  readonly #budget: RequestBudget;
  /** Lowest and highest unanswered number; empty when lowest > highest. What is below was answered here, or on a connection before. */
  #lowest = 1;
  #highest = 0;
  #count = 0;
  /**
   * Answered before a lower one. A request may be the first of this connection that is applied, when those before it had come through the
   * last one; their answers went there, and their copies are still to come. Undefined while there are none, as there mostly are.
   */
  #ahead: Set<number> | undefined;
  /** Bytes of those that are unanswered. As they are answered, each counts as the average of them. */
  #bytes = 0;
  /** The number that a resend asked for and that has not come yet; 0 for none. */
  #awaited = 0;

  constructor(budget: RequestBudget) {
    this.#budget = budget;
  }

  /** Requests that are not answered. */
  get size(): number {
    return this.#count;
  }

  get isEmpty(): boolean {
    return this.#lowest > this.#highest;
  }

  received(number: number, bytes = 0): Admission {
    if (number < this.#lowest || this.covers(number) || this.#isAhead(number)) return 'drop';
    if (this.#awaited !== 0) {
      if (number > this.#awaited) return 'drop';
      this.#awaited = 0;
    }
    if (this.#count >= MAX_UNANSWERED_REQUESTS) return 'overflow';
    if (!this.#budget.allows(this.#bytes, bytes)) {
      this.#awaited = number;
      return 'too-much';
    }
    this.#count += 1;
    this.#owe(bytes);
    if (this.isEmpty) {
      this.#lowest = number;
      this.#highest = number;
      if (this.#ahead !== undefined) this.#forgetAheadOf(number, this.#ahead);
    } else {
      this.#lowest = Math.min(this.#lowest, number);
      this.#highest = Math.max(this.#highest, number);
    }
    return 'submit';
  }

  answered(number: number): void {
    if (number < this.#lowest || this.#isAhead(number)) return;
    if (this.covers(number)) {
      this.#owe(-this.#bytes / this.#count);
      this.#count -= 1;
    }
    if (number !== this.#lowest) {
      (this.#ahead ??= new Set()).add(number);
    } else {
      this.#lowest += 1;
      while (this.#ahead?.delete(this.#lowest)) this.#lowest += 1;
      if (this.#ahead?.size === 0) this.#ahead = undefined;
    }
    // A copy from before the resend was applied after all: the client goes on behind it.
    while (this.#awaited !== 0 && (this.#awaited < this.#lowest || this.#isAhead(this.#awaited))) this.#awaited += 1;
    if (this.isEmpty) this.#forget();
  }

  /** True when a request of that number waits for its answer. */
  covers(number: number): boolean {
    return number >= this.#lowest && number <= this.#highest && !this.#isAhead(number);
  }

  /**
   * Forgets what is unanswered, because it is lost or may be, and returns the number from which the client must send again.
   * Undefined when nothing is unanswered. `atMost`: what the state machine says that it applies next.
   */
  resend(atMost = Number.MAX_SAFE_INTEGER): number | undefined {
    if (this.isEmpty) return undefined;
    this.#lowest = Math.min(this.#lowest, atMost);
    this.#awaited = this.#lowest;
    this.#forget();
    return this.#awaited;
  }

  /** The request that was received last could not be submitted: the client must send it again, and it alone of those before it. */
  takeBack(number: number): number | undefined {
    if (number !== this.#highest) return this.resend(number);
    this.#owe(-this.#bytes / this.#count);
    this.#count -= 1;
    this.#highest -= 1;
    this.#awaited = number;
    return number;
  }

  /** The session is over, or another begins. */
  reset(): void {
    this.#awaited = 0;
    this.#lowest = 1;
    this.#ahead = undefined;
    this.#forget();
  }

  #isAhead(number: number): boolean {
    return this.#ahead !== undefined && this.#ahead.has(number);
  }

  #forgetAheadOf(number: number, ahead: Set<number>): void {
    for (const answered of ahead) if (answered < number) ahead.delete(answered);
    if (ahead.size === 0) this.#ahead = undefined;
  }

  #forget(): void {
    this.#highest = this.#lowest - 1;
    this.#count = 0;
    this.#owe(-this.#bytes);
  }

  #owe(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.bytes += bytes;
  }
}
