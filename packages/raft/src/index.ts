/** Raft consensus: a pure core, a write-ahead log, and the driver that runs them. */

export * from './core/index.ts';
export * from './log-store/index.ts';
export { ExpelledError } from './expelled-error.ts';
export * from './machine.ts';
export type { ReplicaObserver } from './observer.ts';
export { PEER_PROTOCOL_VERSION, decodeHello, decodePeerFrame, encodeHello, raftItem } from './peer-codec.ts';
export type { PeerHello, PeerItem } from './peer-codec.ts';
export { PEER_FEATURES, PeerFeature } from './peer-features.ts';
export * from './replica.ts';
export * from './duration-histogram.ts';
export type { StageHistograms, StageTimes } from './stage-clock.ts';
export { DEFAULT_SNAPSHOT_OPTIONS } from './snapshots/snapshot-options.ts';
export type { SnapshotOptions } from './snapshots/snapshot-options.ts';
