/**
 * Where the log and the hard state live. One ordered stream of durable writes; the implementation for production is the
 * write-ahead log of this directory, and every implementation passes the same conformance suite.
 */

import type { DurableState, Entry, HardState, LogIndex, LogPosition } from '../../core/index.ts';
import type { SnapshotInfo, SnapshotMeta, SnapshotSink, SnapshotSource } from './snapshot.ts';

/** Everything of one turn. Applied in the order of its fields. */
export interface WriteBatch {
  readonly hardState?: HardState;
  /** The whole log is gone, and goes on behind this snapshot, which is durable here. Not beside truncateFrom. */
  readonly snapshot?: LogPosition | undefined;
  /** Entries from here on are gone; what follows replaces them. */
  readonly truncateFrom?: LogIndex;
  /** Consecutive, and following what the log then holds. */
  readonly entries: readonly Entry[];
}

export interface LogStore {
  readonly durable: DurableState;
  /**
   * Durable on resolve, as one disk operation, all or nothing over a crash. The caller keeps at most one in flight. Rejects with
   * DiskError, and from then on always: after a failed write or sync nothing is known of what the disk holds. `worked` is called
   * whenever the disk has done a part of it, or something else meanwhile that the batch may have to wait for.
   */
  write(batch: WriteBatch, worked?: () => void): Promise<void>;
  /**
   * Durable entries from `from` to at most `to`, as many as fit in `maxBytes` of data, at least one. May run beside a write: what that
   * write truncates is left out at once, and what was compacted is not there, so that the result may be empty. The bytes are the caller's.
   */
  read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]>;
  /** The lowest index that can still be read, or that comes next in an empty log. */
  readonly firstIndex: LogIndex;
  /** The newest that is durable. */
  readonly snapshot: SnapshotInfo | undefined;
  /** Begins one, of which nothing is left unless it is finished. Rejects with DiskError. */
  createSnapshot(meta: SnapshotMeta): Promise<SnapshotSink>;
  /** Opens the newest; undefined when there is none. Rejects with DiskError. */
  openSnapshot(): Promise<SnapshotSource | undefined>;
  /**
   * Entries up to here are not needed any more; a durable snapshot holds them. May keep some of them, and may run beside writes and
   * reads. Rejects with DiskError.
   */
  compact(upTo: LogIndex): Promise<void>;
  /**
   * Whether it may keep room on the disk that it does not need now, to use it again. When not, it gives back what it keeps, in the
   * background. @default true
   */
  allowSpare(allowed: boolean): void;
  /** The log has again what it had lost. **Durable** on resolve. Rejects with DiskError. */
  liftVoteBan(): Promise<void>;
  close(): Promise<void>;
}
