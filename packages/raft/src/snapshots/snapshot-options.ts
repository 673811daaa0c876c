/** How often snapshots are taken, what they keep behind them, and how fast they travel. Each is a named limit (docs/limits.md). */

export interface SnapshotOptions {
  /** Bytes of entries applied since the last snapshot after which the next one is taken. */
  readonly snapshotLogBytes: number;
  /** Bytes of entries before a snapshot that stay in the log, so that a follower that lags a little needs no snapshot. */
  readonly snapshotTrailingBytes: number;
  /** Of the machine's state, taken in one turn of the event loop. */
  readonly snapshotSliceBytes: number;
  /** What this server sends in snapshots, to all peers together. */
  readonly snapshotBytesPerSecond: number;
}

export const DEFAULT_SNAPSHOT_OPTIONS: SnapshotOptions = {
  snapshotLogBytes: 128 * 1024 * 1024,
  snapshotTrailingBytes: 32 * 1024 * 1024,
  snapshotSliceBytes: 128 * 1024,
  snapshotBytesPerSecond: 32 * 1024 * 1024,
};

/**
 * What a server writes of its own snapshot in a millisecond on average, beyond the first {@link UNTHROTTLED_BYTES}. Servers with one disk
 * take theirs at the same entry.
 */
export const TAKEN_BYTES_PER_MS = 16 * 1024;
/** After a slice the machine's event loop is left alone for so many times as long as the slice took. */
export const SLICE_REST_FACTOR = 4;
/**
 * Of each snapshot that a server takes, the first bytes go as fast as the disk takes them. A state that is hardly larger than the log
 * that asks for its snapshot should be safe soon, since a server that stops before replays all of that log at each start.
 */
export const UNTHROTTLED_BYTES = 128 * 1024 * 1024;
/** In place of {@link SLICE_REST_FACTOR} for those. */
export const UNTHROTTLED_REST_FACTOR = 2;
/** How often what waits for its share of the sending checks whether it has become urgent. */
export const URGENCY_CHECK_MS = 50;
/** Pieces of one snapshot that are sent and not acknowledged. */
export const MAX_CHUNKS_IN_FLIGHT = 4;
/** A transfer of which nothing is heard for so long is broken off and begun again where it stood. */
export const TRANSFER_STALL_MS = 10_000;
/** A transfer in which no piece came for so long gives way to another one that is offered. */
export const TRANSFER_GIVES_WAY_MS = 1_000;
/** What has arrived of a snapshot is kept for its sender's return. */
export const PARTIAL_SNAPSHOT_KEPT_MS = 60_000;
/** Before a transfer that broke off, or was refused, is tried again: from this long, doubling, to at most that long. */
export const TRANSFER_RETRY_MIN_MS = 100;
export const TRANSFER_RETRY_MAX_MS = 2_000;
/** After a snapshot for which the disk had no room, the log grows by this share of `snapshotLogBytes` before the next attempt. */
export const RETRY_AFTER_SHARE = 0.25;
/** As long as a peer is being sent a snapshot, what follows it stays in the log, up to so many times `snapshotLogBytes`. */
export const HELD_LOG_FACTOR = 4;
/** That a peer cannot catch up is logged once in so long, of each peer. */
export const OVERTAKEN_WARNING_MS = 60_000;
/** Nothing is taken from the sender of a snapshot that the state machine refused, for so long, doubling up to the maximum. */
export const REFUSED_SNAPSHOT_PAUSE_MIN_MS = 5_000;
export const REFUSED_SNAPSHOT_PAUSE_MAX_MS = 60_000;
/** Senders for whom that is remembered. */
export const MAX_REFUSED_SENDERS = 32;
/** How often the sender of a snapshot that is being restored is notified that it was not forgotten. */
export const RESTORING_NEWS_MS = TRANSFER_STALL_MS / 4;
