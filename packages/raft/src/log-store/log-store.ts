/**
 * Where the log and the hard state live. One ordered stream of durable writes; the implementation for production is the
 * write-ahead log of this directory, and every implementation passes the same conformance suite.
 */

import type { Entry, HardState, LogIndex, TermMark } from '../core/index.ts';

/** Everything of one turn. Applied in the order of its fields. */
export interface WriteBatch {
  readonly hardState?: HardState;
  /** Entries from here on are gone; what follows replaces them. */
  readonly truncateFrom?: LogIndex;
  /** Consecutive, and following what the log then holds. */
  readonly entries: readonly Entry[];
}

/** What a start found. */
export interface DurableState {
  readonly hardState: HardState;
  /** 0 for an empty log. */
  readonly lastIndex: LogIndex;
  /** The terms of all entries, by first index; empty for an empty log. */
  readonly terms: readonly TermMark[];
}

export interface LogStore {
  readonly durable: DurableState;
  /**
   * Durable on resolve, as one disk operation, all or nothing over a crash. The caller keeps at most one in flight. Rejects with
   * DiskError, and from then on always: after a failed write or sync nothing is known of what the disk holds.
   */
  write(batch: WriteBatch): Promise<void>;
  /**
   * Durable entries from `from` to at most `to`, as many as fit in `maxBytes` of data, at least one. May run beside a write: what that
   * write truncates is left out at once, so that the result may be empty. The bytes are the caller's.
   */
  read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]>;
  close(): Promise<void>;
}
