/** Raft consensus: a pure core, a write-ahead log, and the driver that runs them. */

export * from './core/index.ts';
export * from './log-store/index.ts';
export { ExpelledError } from './peers/expelled-error.ts';
export * from './machine.ts';
export type { ReplicaObserver } from './observer.ts';
export { decodePeerFrame, peerItem, peerItems } from './peers/peer-codec.ts';
export type { PeerItem } from './peers/peer-codec.ts';
export {
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  decodeChallenge,
  decodeExpulsion,
  decodeHello,
  decodeProof,
  decodeWelcome,
  encodeChallenge,
  encodeExpulsion,
  encodeHello,
  encodeProof,
  encodeWelcome,
  helloVersion,
} from './peers/greeting-codec.ts';
export type { PeerHello, PeerProof } from './peers/greeting-codec.ts';
export { DialledGreeting } from './peers/greeting.ts';
export { PEER_FEATURES, PeerFeature } from './peers/peer-features.ts';
export { Replica } from './driver/replica.ts';
export type { ReplicaOptions, ReplicaWorld } from './driver/driver-parts.ts';
export * from './driver/stages/duration-histogram.ts';
export type { StageHistograms, StageTimes } from './driver/stages/stage-clock.ts';
export { decodeSnapshotMessage, encodeSnapshotMessage, snapshotMessages } from './snapshots/snapshot-codec.ts';
export type { SnapshotMessage } from './snapshots/snapshot-codec.ts';
export { DEFAULT_SNAPSHOT_OPTIONS } from './snapshots/snapshot-options.ts';
export type { SnapshotOptions } from './snapshots/snapshot-options.ts';
