/** Collects what one checker finds, and makes its verdict. */

import type { Broken, Verdict } from './verdict.ts';

/** Of one checker, for one history: the first ones are the ones to look at. */
const MAX_BROKEN = 20;

export class Findings<Count extends string> {
  readonly #checker: string;
  readonly #counts: Record<Count, number>;
  readonly #broken: Broken[] = [];
  #brokenTotal = 0;

  constructor(checker: string, counts: readonly Count[]) {
    this.#checker = checker;
    this.#counts = Object.fromEntries(counts.map((count) => [count, 0])) as Record<Count, number>;
  }

  count(name: Count, by = 1): void {
    this.#counts[name] += by;
  }

  counted(name: Count): number {
    return this.#counts[name];
  }

  /** `events` are what shows it, in any order. */
  broken(message: string, ...events: readonly ({ readonly seq: number } | undefined)[]): void {
    this.#brokenTotal += 1;
    if (this.#broken.length >= MAX_BROKEN) return;
    const seqs = new Set<number>();
    for (const event of events) if (event !== undefined) seqs.add(event.seq);
    this.#broken.push({ message, events: [...seqs].sort((left, right) => left - right) });
  }

  /** `complete` is false when there was nothing to check, or not all of it could be. */
  verdict(complete: boolean): Verdict {
    const valid = this.#brokenTotal > 0 ? false : complete ? true : 'unknown';
    return {
      checker: this.#checker,
      valid,
      broken: this.#broken,
      counts: { ...this.#counts, broken: this.#brokenTotal },
    };
  }
}
