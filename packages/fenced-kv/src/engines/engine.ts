/**
 * Where the store keeps its bytes: an ordered map with atomic commits. An engine promises that a commit's body sees the
 * latest state and nobody's else writes between its reads and its writes, that all its writes happen or none, and that
 * they are **durable** when the commit resolves. It knows nothing of buckets and tokens.
 */

export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface KeyRange {
  /** Inclusive. */
  readonly from: Uint8Array;
  /** Exclusive. */
  readonly to: Uint8Array;
  readonly limit: number;
}

export interface Reader {
  get(key: Uint8Array): Uint8Array | undefined;
  /** In the order of the keys' bytes. */
  range(range: KeyRange): Entry[];
}

export interface Transaction {
  /** Sees the transaction's own writes. */
  get(key: Uint8Array): Uint8Array | undefined;
  /** The engine may keep `key` and `value`; the caller does not change them any more. */
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
}

/** What may be asked for what is there. */
export interface Readable {
  /** Reads from one state. Throws {@link EngineError}. */
  read<T>(body: (reader: Reader) => T): T;
}

/** One state for as long as it is open, whatever is committed meanwhile. The disk keeps what it shows until it is closed. */
export interface Snapshot extends Readable {
  close(): void;
}

/** What an engine has committed since it was opened. */
export interface CommitFigures {
  /** Commits that have resolved, those that wrote nothing and those that were refused included. */
  readonly commits: number;
  /** Durable writes of the disk, each of which takes what has come during the one before. */
  readonly groups: number;
  /** Commits that wait for the present write to end. */
  readonly waiting: number;
}

export interface Engine {
  readonly figures: CommitFigures;
  /**
   * Reads from one state: that of a commit that is durable, and at least as new as every commit that had resolved before
   * the call. Throws {@link EngineError} after a failure.
   */
  read<T>(body: (reader: Reader) => T): T;
  /**
   * Runs `body` as one atomic step. `body` is synchronous; when it throws, nothing of it is written and the commit rejects
   * with what it threw. A refusal that `body` throws, too, reaches the caller only after the state that it saw is durable.
   * Rejects with {@link EngineError} when the disk fails; all later calls then do too.
   */
  commit<T>(body: (transaction: Transaction) => T): Promise<T>;
  /** Waits for the commits under way, then lets go of the files. */
  close(): Promise<void>;
}

export interface SnapshotEngine extends Engine {
  /** What {@link Engine.read} would show now. Closing the engine closes it. Throws {@link EngineError} after a failure. */
  snapshot(): Snapshot;
}

export interface EngineOptions {
  /** Called once, when a commit could not be made durable. The process must stop: what the disk holds is unknown. */
  readonly onFailure?: (error: Error) => void;
}
