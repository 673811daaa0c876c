/** Latencies of one window, in a buffer of fixed size: when it is full, newer ones take the place of older ones. */

const CAPACITY = 1 << 17;

export class Latencies {
  readonly #values = new Float64Array(CAPACITY);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  add(ms: number): void {
    this.#values[this.#count % CAPACITY] = ms;
    this.#count += 1;
  }

  /** Null while there are none. */
  percentile(share: number): number | null {
    const sorted = this.#values.slice(0, Math.min(this.#count, CAPACITY)).sort();
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  }
}
