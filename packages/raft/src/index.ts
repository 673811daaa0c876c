/** Raft consensus: a pure core, a write-ahead log, and the driver that runs them. */

export * from './core/index.ts';
export * from './log-store/index.ts';
export { ExpelledError } from './peers/expelled-error.ts';
export * from './machine.ts';
export type { ReplicaObserver } from './observer.ts';
export { PEER_PROTOCOL_VERSION, decodeHello, decodePeerFrame, encodeHello, raftItem } from './peers/peer-codec.ts';
export type { PeerHello, PeerItem } from './peers/peer-codec.ts';
export { PEER_FEATURES, PeerFeature } from './peers/peer-features.ts';
export { Replica } from './driver/replica.ts';
export type { ReplicaOptions, ReplicaWorld } from './driver/driver-parts.ts';
export * from './driver/duration-histogram.ts';
export type { StageHistograms, StageTimes } from './driver/stage-clock.ts';
export { DEFAULT_SNAPSHOT_OPTIONS } from './snapshots/snapshot-options.ts';
export type { SnapshotOptions } from './snapshots/snapshot-options.ts';
