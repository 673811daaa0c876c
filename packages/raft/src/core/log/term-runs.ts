/**
 * The terms of a whole log in a few numbers: runs of entries of one term, between the compaction point and the last entry. Nothing is
 * known of what comes before that point.
 */

import { nextIndex, previousIndex, type LogIndex, type LogPosition, type Term } from '../types.ts';

/** Entries from `firstIndex` up to the next run's have this term. */
export interface TermRun {
  readonly term: Term;
  readonly firstIndex: LogIndex;
}

export class TermRuns {
  #base: LogPosition;
  #lastIndex: LogIndex;
  #runs: TermRun[];

  constructor({ base, lastIndex, terms }: { base: LogPosition; lastIndex: LogIndex; terms: readonly TermRun[] }) {
    this.#base = base;
    this.#lastIndex = lastIndex;
    this.#runs = [...terms];
  }

  /** What comes before the first entry. */
  get base(): LogPosition {
    return this.#base;
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex;
  }

  get lastTerm(): Term {
    return this.#runs.at(-1)?.term ?? this.#base.term;
  }

  /** A copy. */
  get runs(): readonly TermRun[] {
    return [...this.#runs];
  }

  /** Undefined before the base and beyond the end. */
  termAt(index: LogIndex): Term | undefined {
    if (index < this.#base.index || index > this.#lastIndex) return undefined;
    for (let at = this.#runs.length - 1; at >= 0; at -= 1) {
      const run = this.#runs[at];
      if (run !== undefined && run.firstIndex <= index) return run.term;
    }
    return this.#base.term;
  }

  append({ index, term }: LogPosition): void {
    if (this.#runs.length === 0 || term !== this.lastTerm) this.#runs.push({ term, firstIndex: index });
    this.#lastIndex = index;
  }

  truncateFrom(index: LogIndex): void {
    if (index > this.#lastIndex) return;
    this.#lastIndex = previousIndex(index);
    while ((this.#runs.at(-1)?.firstIndex ?? 0) >= index) this.#runs.pop();
  }

  /** Entries up to `base`, which is in the log, are forgotten. */
  compactTo(base: LogPosition): void {
    if (base.index <= this.#base.index) return;
    const first = this.#runs.findLastIndex((run) => run.firstIndex <= base.index + 1);
    const run = this.#runs[first];
    this.#runs = this.#runs.slice(first + 1);
    if (run !== undefined && base.index < this.#lastIndex) {
      this.#runs.unshift({ term: run.term, firstIndex: nextIndex(base.index) });
    }
    this.#base = { index: base.index, term: base.term };
  }

  /** The log is empty, and goes on behind `base`. */
  beginAt(base: LogPosition): void {
    this.#base = { index: base.index, term: base.term };
    this.#lastIndex = base.index;
    this.#runs = [];
  }

  /**
   * The largest index at or below `index` whose term is at most `limit`: where two logs may still agree. Before the base nothing is
   * known, and `index` stays. A follower that refuses to append behind (prevIndex, prevTerm) names so where its own log may agree, and
   * the leader looks up what it is told in the same way; so a whole term of conflicts is skipped at a time, on either side:
   *
   *     index     1 2 3 4 5 6 7        Asked behind 7, term 3, the follower names 7, term 2: its last whose term is not above 3. The
   *     leader    1 1 1 3 3 3 3        leader's last at or below 6 whose term is not above 2 is 3, where they agree: one answer,
   *     follower  1 1 1 2 2 2 2        instead of one for each of 6, 5, 4 and 3.
   *
   *     leader    1 1 2 2 2 6          Asked behind 5, term 2, the follower names 2, term 1: all behind it is above term 2. So does
   *     follower  1 1 5 5 5 5          the leader, and they agree there.
   */
  lastIndexWithTermAtMost(index: LogIndex, limit: Term): LogIndex {
    let candidate = index;
    for (let at = this.#runs.length - 1; at >= 0; at -= 1) {
      const run = this.#runs[at];
      if (run === undefined || run.firstIndex > candidate) continue;
      if (run.term <= limit) return candidate;
      candidate = previousIndex(run.firstIndex);
    }
    if (candidate === this.#base.index && this.#base.term > limit) candidate = previousIndex(candidate);
    return candidate < 0 ? (0 as LogIndex) : candidate;
  }
}
