/**
 * What a log holds, without its entries: hard state, terms, last index. Every log store keeps one, and it is the one place that says
 * which batch may follow which log; a start replays the batches into it.
 */

import { logIndex, NO_SERVER, previousIndex, term } from '../core/index.ts';
import type { Entry, HardState, LogIndex, Term, TermMark } from '../core/index.ts';
import type { DurableState, WriteBatch } from './log-store.ts';

const NO_TERM = term(0);
const EMPTY_LOG: DurableState = {
  hardState: { term: NO_TERM, votedFor: NO_SERVER },
  lastIndex: logIndex(0),
  terms: [],
};

export class LogImage {
  #hardState: HardState;
  #lastIndex: LogIndex;
  readonly #terms: TermMark[];

  constructor(from: DurableState = EMPTY_LOG) {
    this.#hardState = from.hardState;
    this.#lastIndex = from.lastIndex;
    this.#terms = [...from.terms];
  }

  get hardState(): HardState {
    return this.#hardState;
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex;
  }

  get lastTerm(): Term {
    return this.#terms.at(-1)?.term ?? NO_TERM;
  }

  /** A copy, for a caller to keep. */
  durableState(): DurableState {
    return { hardState: this.#hardState, lastIndex: this.#lastIndex, terms: [...this.#terms] };
  }

  /** Why `batch` cannot follow this log; undefined when it can. */
  contradiction({ hardState, truncateFrom, entries }: WriteBatch): string | undefined {
    if (hardState !== undefined && hardState.term < this.#hardState.term) {
      return `the hard state's term falls from ${this.#hardState.term} to ${hardState.term}`;
    }
    if (truncateFrom !== undefined && truncateFrom < 1) return `the log is cut from index ${truncateFrom}`;
    const kept =
      truncateFrom === undefined || truncateFrom > this.#lastIndex ? this.#lastIndex : previousIndex(truncateFrom);
    let index = kept;
    let entryTerm = this.#termAt(kept);
    for (const entry of entries) {
      if (entry.index !== index + 1) return `entry ${entry.index} follows entry ${index}`;
      if (entry.term < entryTerm) return `the term falls from ${entryTerm} to ${entry.term} at entry ${entry.index}`;
      index = entry.index;
      entryTerm = entry.term;
    }
    // Its term is durable before an entry is, or a server could vote again in a term in which it has acknowledged entries.
    const currentTerm = (hardState ?? this.#hardState).term;
    if (entries.length > 0 && entryTerm > currentTerm) {
      return `entry ${index} has term ${entryTerm}, beyond the hard state's term ${currentTerm}`;
    }
    return undefined;
  }

  setHardState(hardState: HardState): void {
    this.#hardState = hardState;
  }

  truncateFrom(index: LogIndex): void {
    if (index > this.#lastIndex) return;
    this.#lastIndex = previousIndex(index);
    while ((this.#terms.at(-1)?.firstIndex ?? 0) >= index) this.#terms.pop();
  }

  append(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.term !== this.lastTerm) this.#terms.push({ term: entry.term, firstIndex: entry.index });
      this.#lastIndex = entry.index;
    }
  }

  #termAt(index: LogIndex): Term {
    for (let at = this.#terms.length - 1; at >= 0; at -= 1) {
      const mark = this.#terms[at];
      if (mark !== undefined && mark.firstIndex <= index) return mark.term;
    }
    return NO_TERM;
  }
}
