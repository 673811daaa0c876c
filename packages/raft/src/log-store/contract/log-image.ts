/**
 * What a log holds, without its entries: hard state, terms, last index, configurations. Every log store keeps one, and it is the one place that says
 * which batch may follow which log; a start replays the batches into it.
 */

import { EntryType, LOG_START, NO_SERVER, previousIndex, term, TermRuns } from '../../core/index.ts';
import type {
  ConfigurationEntry,
  DurableState,
  Entry,
  HardState,
  LogIndex,
  LogPosition,
  SnapshotPosition,
  Term,
} from '../../core/index.ts';
import type { WriteBatch } from './log-store.ts';

const NO_TERM = term(0);
const EMPTY_LOG: DurableState = {
  hardState: { term: NO_TERM, votedFor: NO_SERVER },
  base: LOG_START,
  lastIndex: LOG_START.index,
  terms: [],
  snapshot: undefined,
  configurations: [],
};

export class LogImage {
  #hardState: HardState;
  readonly #terms: TermRuns;
  #configurations: ConfigurationEntry[];

  constructor(from: DurableState = EMPTY_LOG) {
    this.#hardState = from.hardState;
    this.#terms = new TermRuns(from);
    this.#configurations = [...from.configurations];
  }

  get hardState(): HardState {
    return this.#hardState;
  }

  /** What comes before the first entry. */
  get base(): LogPosition {
    return this.#terms.base;
  }

  get lastIndex(): LogIndex {
    return this.#terms.lastIndex;
  }

  get lastTerm(): Term {
    return this.#terms.lastTerm;
  }

  /** A copy, for a caller to keep. */
  durableState(found: SnapshotPosition | undefined): DurableState {
    const snapshot =
      found === undefined ? undefined : { index: found.index, term: found.term, configuration: found.configuration };
    return {
      hardState: this.#hardState,
      base: this.base,
      lastIndex: this.lastIndex,
      terms: this.#terms.runs,
      snapshot,
      configurations: [...this.#configurations],
    };
  }

  /** Why `batch` cannot follow this log; undefined when it can. */
  contradiction({ hardState, snapshot, truncateFrom, entries }: WriteBatch): string | undefined {
    if (hardState !== undefined && hardState.term < this.#hardState.term) {
      return `the hard state's term falls from ${this.#hardState.term} to ${hardState.term}`;
    }
    if (truncateFrom !== undefined && truncateFrom <= this.base.index) {
      return `the log is cut from index ${truncateFrom}, and begins behind ${this.base.index}`;
    }
    if (snapshot !== undefined && truncateFrom !== undefined) return 'the log is replaced and cut at once';
    const kept =
      truncateFrom === undefined || truncateFrom > this.lastIndex ? this.lastIndex : previousIndex(truncateFrom);
    let index = snapshot?.index ?? kept;
    let entryTerm = snapshot?.term ?? this.termAt(kept) ?? NO_TERM;
    for (const entry of entries) {
      if (entry.index !== index + 1) return `entry ${entry.index} follows entry ${index}`;
      if (entry.term < entryTerm) return `the term falls from ${entryTerm} to ${entry.term} at entry ${entry.index}`;
      index = entry.index;
      entryTerm = entry.term;
    }
    // Its term is durable before an entry is, or a server could vote again in a term in which it has acknowledged entries.
    const currentTerm = (hardState ?? this.#hardState).term;
    if ((entries.length > 0 || snapshot !== undefined) && entryTerm > currentTerm) {
      return `entry ${index} has term ${entryTerm}, beyond the hard state's term ${currentTerm}`;
    }
    return undefined;
  }

  setHardState(hardState: HardState): void {
    this.#hardState = hardState;
  }

  /** The log is empty, and goes on behind `base`. */
  beginAt(base: LogPosition): void {
    this.#terms.beginAt(base);
    this.#configurations = [];
  }

  /** Entries up to `base`, which is in the log, are no longer in it. */
  compactTo(base: LogPosition): void {
    if (base.index <= this.base.index) return;
    this.#configurations = this.#configurations.filter(({ index }) => index > base.index);
    this.#terms.compactTo(base);
  }

  truncateFrom(index: LogIndex): void {
    if (index > this.lastIndex) return;
    this.#terms.truncateFrom(index);
    while ((this.#configurations.at(-1)?.index ?? 0) >= index) this.#configurations.pop();
  }

  append(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#terms.append(entry);
      if (entry.type === EntryType.configuration) {
        this.#configurations.push({ index: entry.index, data: entry.data.slice() });
      }
    }
  }

  /** Undefined below the base and beyond the end. */
  termAt(index: LogIndex): Term | undefined {
    return this.#terms.termAt(index);
  }
}
