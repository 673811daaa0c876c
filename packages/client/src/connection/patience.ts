/**
 * How long one step of an attempt may take: twice as long after each attempt that ran out of time, up to a bound. Many who gave up
 * after the same time would have their servers do the same work again and again, and none of it to its end.
 */

export class Patience {
  readonly #firstMs: number;
  readonly #maxMs: number;
  #timeouts = 0;

  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs;
    this.#maxMs = Math.max(firstMs, maxMs);
  }

  get ms(): number {
    return Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(this.#timeouts, 30));
  }

  ranOut(): void {
    this.#timeouts += 1;
  }

  reset(): void {
    this.#timeouts = 0;
  }
}
