/** Durable storage of the log: the contract, the write-ahead log, its data directory, and a store in memory for tests. */

export * from './damaged-log-error.ts';
export * from './damaged-snapshot-error.ts';
export * from './data-directory.ts';
export * from './entry-block.ts';
export * from './identity-mismatch-error.ts';
export * from './inspect.ts';
export * from './lift-vote-ban.ts';
export * from './log-store.ts';
export * from './memory-log-store.ts';
export * from './recovered-index.ts';
export * from './seeded-directory.ts';
export * from './snapshot.ts';
export { createWriteAheadLog, DEFAULT_SEGMENT_BYTES, openWriteAheadLog } from './write-ahead-log.ts';
export type { WriteAheadLogOptions, WriteAheadLogWorld } from './write-ahead-log.ts';
export type { LogIdentity } from './frame.ts';
export type { SnapshotCheck } from './snapshot-files.ts';
