/** Durable storage of the log: the contract, the write-ahead log, its data directory, and a store in memory for tests. */

export * from './errors/damaged-log-error.ts';
export * from './errors/damaged-snapshot-error.ts';
export * from './directory/data-directory.ts';
export { BatchReader } from './format/batch-reader.ts';
export type { BatchRead, BatchReaderOptions } from './format/batch-reader.ts';
export * from './format/entry-block.ts';
export * from './errors/identity-mismatch-error.ts';
export * from './recovery/inspect.ts';
export * from './directory/lift-vote-ban.ts';
export * from './contract/log-store.ts';
export * from './contract/memory-log-store.ts';
export * from './recovery/recovered-index.ts';
export * from './directory/seeded-directory.ts';
export * from './contract/snapshot.ts';
export { parseSegmentFileName } from './segments/segment-name.ts';
export type { SegmentName } from './segments/segment-name.ts';
export { createWriteAheadLog, DEFAULT_SEGMENT_BYTES, openWriteAheadLog } from './wal/write-ahead-log.ts';
export type { WriteAheadLogOptions, WriteAheadLogWorld } from './wal/write-ahead-log.ts';
export type { LogIdentity } from './format/frame.ts';
export type { SnapshotCheck } from './snapshots/snapshot-files.ts';
