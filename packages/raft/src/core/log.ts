/**
 * The log as the core sees it: the terms of all entries in a few marks, and the entries themselves only near the end (the tail).
 * What the tail has dropped is on disk and is asked for with read-entries.
 */

import { invariant } from './invariant.ts';
import {
  entryBytes,
  logIndex,
  nextIndex,
  previousIndex,
  type Entry,
  type LogIndex,
  type LogPosition,
  type Term,
  type TermMark,
} from './types.ts';

/** Bytes of entries in memory. */
export interface TailLimits {
  readonly tailBytes: number;
  /** Of entries that are settled. */
  readonly settledTailBytes: number;
}

export class RaftLog {
  readonly #limits: TailLimits;
  #marks: TermMark[];
  /** What comes before the first entry. Nothing is known of what comes before it. */
  #base: LogPosition;
  /** Entries from #tailFirst to lastIndex; the first #dropped places are empty and cut off now and then. */
  #tail: (Entry | undefined)[] = [];
  #dropped = 0;
  #tailFirst: LogIndex;
  #tailBytes = 0;
  #lastIndex: LogIndex;

  constructor(
    {
      base,
      terms,
      lastIndex,
    }: { readonly base: LogPosition; readonly terms: readonly TermMark[]; readonly lastIndex: LogIndex },
    limits: TailLimits,
  ) {
    this.#base = base;
    this.#marks = [...terms];
    this.#lastIndex = lastIndex;
    this.#tailFirst = nextIndex(lastIndex);
    this.#limits = limits;
  }

  get base(): LogPosition {
    return this.#base;
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex;
  }

  get lastTerm(): Term {
    return this.#marks.at(-1)?.term ?? this.#base.term;
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
    if (index < this.#base.index || index > this.#lastIndex) return undefined;
    for (let position = this.#marks.length - 1; position >= 0; position -= 1) {
      const mark = this.#marks[position];
      if (mark !== undefined && mark.firstIndex <= index) return mark.term;
    }
    return this.#base.term;
  }

  append(entry: Entry): void {
    invariant(entry.index === this.#lastIndex + 1, 'log-has-no-gap', () => `${entry.index} after ${this.#lastIndex}`);
    invariant(entry.term >= this.lastTerm, 'terms-never-fall-in-the-log', () => `${entry.term} after ${this.lastTerm}`);
    if (this.#marks.length === 0 || entry.term !== this.lastTerm)
      this.#marks.push({ term: entry.term, firstIndex: entry.index });
    this.#tail.push(entry);
    this.#tailBytes += entryBytes(entry);
    this.#lastIndex = entry.index;
  }

  truncateFrom(index: LogIndex): void {
    while (this.#lastIndex >= index) {
      const last = this.#lastIndex >= this.#tailFirst ? this.#tail.pop() : undefined;
      if (last !== undefined) this.#tailBytes -= entryBytes(last);
      this.#lastIndex = previousIndex(this.#lastIndex);
    }
    if (this.#tailFirst > this.#lastIndex + 1) this.#clearTail();
    while ((this.#marks.at(-1)?.firstIndex ?? 0) > this.#lastIndex) this.#marks.pop();
  }

  /** Forgets the entries up to `index`. */
  compactTo(index: LogIndex): void {
    if (index <= this.#base.index) return;
    const baseTerm = this.termAt(index);
    invariant(baseTerm !== undefined, 'compaction-is-within-the-log', () => `${index} of ${this.#lastIndex}`);
    const at = this.#marks.findLastIndex((mark) => mark.firstIndex <= index + 1);
    const mark = this.#marks[at];
    this.#marks = this.#marks.slice(at + 1);
    if (mark !== undefined && index < this.#lastIndex) {
      this.#marks.unshift({ term: mark.term, firstIndex: nextIndex(index) });
    }
    this.#base = { index, term: baseTerm };
    while (this.#tailFirst <= index) this.#dropOldest();
  }

  /** Empty, and going on behind `base`. */
  beginAt(base: LogPosition): void {
    this.#base = base;
    this.#marks = [];
    this.#lastIndex = base.index;
    this.#clearTail();
  }

  /** Consecutive entries from `from` to at most `to`, as many as fit, at least one; undefined when `from` is no longer in memory. */
  slice(from: LogIndex, to: LogIndex, maxBytes: number): Entry[] | undefined {
    if (from < this.#tailFirst) return undefined;
    const entries: Entry[] = [];
    let bytes = 0;
    const first = from - this.#tailFirst + this.#dropped;
    const end = Math.min(to, this.#lastIndex) - this.#tailFirst + this.#dropped;
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
   * `settled` have a lower one.
   */
  shrinkTail(durable: LogIndex, settled: LogIndex): void {
    const { tailBytes, settledTailBytes } = this.#limits;
    while (this.#tailFirst <= durable && this.#tailBytes > tailBytes) this.#dropOldest();
    while (this.#tailFirst <= settled && this.#tailBytes > settledTailBytes) this.#dropOldest();
    if (this.#dropped > 1_024 && this.#dropped * 2 > this.#tail.length) {
      this.#tail = this.#tail.slice(this.#dropped);
      this.#dropped = 0;
    }
  }

  /** Whether a log that ends so is at least as new as this one (thesis 3.6.1). */
  isUpToDate(lastIndex: LogIndex, lastTerm: Term): boolean {
    return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.#lastIndex);
  }

  /**
   * The largest index at or below `index` whose term is at most `limit`: where two logs may still agree. Both sides use it, so that
   * a rejected append skips a whole term at a time instead of one entry. Before the base nothing is known, and `index` stays.
   */
  lastIndexWithTermAtMost(index: LogIndex, limit: Term): LogIndex {
    let candidate = index;
    for (let position = this.#marks.length - 1; position >= 0; position -= 1) {
      const mark = this.#marks[position];
      if (mark === undefined || mark.firstIndex > candidate) continue;
      if (mark.term <= limit) return candidate;
      candidate = previousIndex(mark.firstIndex);
    }
    if (candidate === this.#base.index && this.#base.term > limit) candidate = previousIndex(candidate);
    return candidate < 0 ? logIndex(0) : candidate;
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
    this.#tailFirst = nextIndex(this.#lastIndex);
  }
}
