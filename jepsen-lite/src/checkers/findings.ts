/** Collects what one checker finds, and makes its verdict. */

import type { Broken, PartialLinearization, Verdict } from './verdict.ts';

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
    this.#add({ message, events: numbersOf(events) });
  }

  /** No order explains it: `events` are what shows it, `linearization` how far one came. */
  stuck(
    message: string,
    linearization: PartialLinearization,
    ...events: readonly ({ readonly seq: number } | undefined)[]
  ): void {
    this.#add({ message, events: numbersOf(events), linearization });
  }

  #add(broken: Broken): void {
    this.#brokenTotal += 1;
    if (this.#broken.length >= MAX_BROKEN) return;
    this.#broken.push(broken);
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

/** Rising, each once. */
function numbersOf(events: readonly ({ readonly seq: number } | undefined)[]): number[] {
  const seqs = new Set(events.flatMap((event) => event?.seq ?? []));
  return [...seqs].sort((left, right) => left - right);
}
