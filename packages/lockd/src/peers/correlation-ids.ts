/**
 * Numbers by which this server recognizes the answer to what it has asked, of a peer or of the log. They begin at random in each
 * process: answers to what an earlier process of this server had asked must mean nothing to this one.
 */

import type { Random } from '@holdfast/runtime';

/** Far from the end of the safe integers, and so many that two processes of one server do not meet. */
const FIRST_BELOW = 2 ** 40;

export class CorrelationIds {
  #last: number;

  constructor(random: Random) {
    this.#last = random.integer(FIRST_BELOW);
  }

  /** At least 1, and never the same twice. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
