/** Delays between attempts that double up to a bound, with full jitter so that many clients do not come back in step. */

import type { Random } from '@holdfast/runtime';

export class Backoff {
  readonly #random: Random;
  readonly #firstMs: number;
  readonly #maxMs: number;
  #attempts = 0;

  constructor(random: Random, firstMs: number, maxMs: number) {
    this.#random = random;
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
  }

  nextMs(): number {
    const ceilingMs = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    return this.#random.next() * ceilingMs;
  }

  reset(): void {
    this.#attempts = 0;
  }
}
