/** Durations counted in fixed ranges: noting one is an addition, and nothing is allocated. */

/** Upper ends of the ranges, inclusive; longer durations count in none of them. */
export const DURATION_BOUNDS_MS = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000,
] as const;

export class DurationHistogram {
  readonly #counts: number[] = DURATION_BOUNDS_MS.map(() => 0);
  #count = 0;
  #sumMs = 0;

  note(ms: number): void {
    this.#count += 1;
    this.#sumMs += ms;
    const range = DURATION_BOUNDS_MS.findIndex((bound) => ms <= bound);
    if (range >= 0) this.#counts[range] = (this.#counts[range] ?? 0) + 1;
  }

  /** Those of each range alone, in the order of {@link DURATION_BOUNDS_MS}. */
  get counts(): readonly number[] {
    return this.#counts;
  }

  /** All of them, those beyond the last bound too. */
  get count(): number {
    return this.#count;
  }

  get sumMs(): number {
    return this.#sumMs;
  }
}
