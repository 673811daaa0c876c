/**
 * The log as the core sees it: the terms of all entries in a few runs, and the entries themselves only near the end (the tail).
 * What the tail has dropped is on disk and is asked for with read-entries.
 */

import type { DurableState } from '../durable-state.ts';
import { invariant } from '../invariant.ts';
import {
  entryBytes,
  nextIndex,
  previousIndex,
  type Entry,
  type LogIndex,
  type LogPosition,
  type Term,
} from '../types.ts';
import { TermRuns } from './term-runs.ts';

/** Bytes of entries in memory. */
export interface TailLimits {
  readonly tailBytes: number;
  /** Of entries that are fully replicated: applied here, and acknowledged by all followers. */
  readonly replicatedTailBytes: number;
}

export class RaftLog {
  readonly #limits: TailLimits;
  readonly #terms: TermRuns;
  /** Entries from #tailFirst to lastIndex; the first #dropped places are empty and cut off now and then. */
  #tail: (Entry | undefined)[] = [];
  #dropped = 0;
  #tailFirst: LogIndex;
  #tailBytes = 0;

  constructor(found: Pick<DurableState, 'base' | 'terms' | 'lastIndex'>, limits: TailLimits) {
    this.#terms = new TermRuns(found);
    this.#tailFirst = nextIndex(found.lastIndex);
    this.#limits = limits;
  }

  /** What comes before the first entry. Nothing is known of what comes before it. */
  get base(): LogPosition {
    return this.#terms.base;
  }

  get lastIndex(): LogIndex {
    return this.#terms.lastIndex;
  }

  get lastTerm(): Term {
    return this.#terms.lastTerm;
  }

  /** The first index whose entry is in memory. */
  get tailFirst(): LogIndex {
    return this.#tailFirst;
  }

  get tailBytes(): number {
    return this.#tailBytes;
  }

  /** Undefined before the base and beyond the end. */
  termAt(index: LogIndex): Term | undefined {
    return this.#terms.termAt(index);
  }

  append(entry: Entry): void {
    const { lastIndex, lastTerm } = this.#terms;
    invariant(entry.index === lastIndex + 1, 'log-has-no-gap', () => `${entry.index} after ${lastIndex}`);
    invariant(entry.term >= lastTerm, 'terms-never-fall-in-the-log', () => `${entry.term} after ${lastTerm}`);
    this.#terms.append(entry);
    this.#tail.push(entry);
    this.#tailBytes += entryBytes(entry);
  }

  truncateFrom(index: LogIndex): void {
    for (let last = this.lastIndex; last >= index && last >= this.#tailFirst; last = previousIndex(last)) {
      const entry = this.#tail.pop();
      if (entry !== undefined) this.#tailBytes -= entryBytes(entry);
    }
    this.#terms.truncateFrom(index);
    if (this.#tailFirst > this.lastIndex + 1) this.#clearTail();
  }

  /** Forgets the entries up to `index`. */
  compactTo(index: LogIndex): void {
    if (index <= this.base.index) return;
    const term = this.termAt(index);
    invariant(term !== undefined, 'compaction-is-within-the-log', () => `${index} of ${this.lastIndex}`);
    this.#terms.compactTo({ index, term });
    while (this.#tailFirst <= index) this.#dropOldest();
  }

  /** Empty, and going on behind `base`. */
  beginAt(base: LogPosition): void {
    this.#terms.beginAt(base);
    this.#clearTail();
  }

  /** Consecutive entries from `from` to at most `to`, as many as fit, at least one; undefined when `from` is no longer in memory. */
  slice(from: LogIndex, to: LogIndex, maxBytes: number): Entry[] | undefined {
    if (from < this.#tailFirst) return undefined;
    const entries: Entry[] = [];
    let bytes = 0;
    const first = from - this.#tailFirst + this.#dropped;
    const end = Math.min(to, this.lastIndex) - this.#tailFirst + this.#dropped;
    for (let position = first; position <= end; position += 1) {
      const entry = this.#tail[position];
      invariant(entry !== undefined, 'tail-is-whole');
      bytes += entryBytes(entry);
      if (entries.length > 0 && bytes > maxBytes) break;
      entries.push(entry);
    }
    return entries;
  }

  /**
   * Drops entries up to `durable` (committed and durable) from memory, oldest first, while the tail is over its limit. Those up to
   * `replicated` have a lower one.
   */
  shrinkTail(durable: LogIndex, replicated: LogIndex): void {
    const { tailBytes, replicatedTailBytes } = this.#limits;
    while (this.#tailFirst <= durable && this.#tailBytes > tailBytes) this.#dropOldest();
    while (this.#tailFirst <= replicated && this.#tailBytes > replicatedTailBytes) this.#dropOldest();
    if (this.#dropped > 1_024 && this.#dropped * 2 > this.#tail.length) {
      this.#tail = this.#tail.slice(this.#dropped);
      this.#dropped = 0;
    }
  }

  /**
   * Whether a log that ends so is at least as new as this one (thesis 3.6.1): the log with the later last term is the newer one, however
   * long the other is; of two with the same last term the longer. So a winner has every committed entry, since of its voters one has:
   *
   *     terms  1 1 2        against  1 1 1 1 1    the first is newer: what is behind entry 2 of the second was never committed
   *     terms  1 1 2 2      against  1 1 2        the first is newer: entry 4 may be committed
   */
  isUpToDate(lastIndex: LogIndex, lastTerm: Term): boolean {
    return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);
  }

  /**
   * The largest index at or below `index` whose term is at most `limit`: where two logs may still agree. Both sides use it, so that
   * a rejected append skips a whole term at a time instead of one entry. Before the base nothing is known, and `index` stays.
   */
  lastIndexWithTermAtMost(index: LogIndex, limit: Term): LogIndex {
    return this.#terms.lastIndexWithTermAtMost(index, limit);
  }

  #dropOldest(): void {
    const oldest = this.#tail[this.#dropped];
    if (oldest !== undefined) this.#tailBytes -= entryBytes(oldest);
    this.#tail[this.#dropped] = undefined;
    this.#dropped += 1;
    this.#tailFirst = nextIndex(this.#tailFirst);
  }

  #clearTail(): void {
    this.#tail = [];
    this.#dropped = 0;
    this.#tailBytes = 0;
    this.#tailFirst = nextIndex(this.lastIndex);
  }
}
