/** The replicated state machine of Holdfast. Pure: the same entries make the same state and outputs, byte for byte. */

export * from './entries/entry.ts';
export { InvariantError } from './invariant.ts';
export { STATE_LIMITS, type StateLimits } from './limits.ts';
export * from './output.ts';
export { SnapshotError } from './snapshot-error.ts';
export type { StateRestore } from './snapshot/state-restore.ts';
export type { StateSnapshot } from './snapshot/state-snapshot.ts';
export type { HeldPlace, LockHolds, PendingDelay } from './queries/holds.ts';
export type { SessionInfo } from './sessions/session-info.ts';
export * from './state-machine.ts';
export { LATEST_STATE_VERSION } from './state-version.ts';
export type { StateCounts } from './state.ts';
export type { NodeChangeKind, NodeListener } from './tree/change-feed.ts';
export type { LimitedNode } from './tree/limited-node.ts';
export type { HashKey } from './tree/storage/keyed-hash.ts';
export type { NodeSlot } from './tree/node-slot.ts';
export type { TreeLookup } from './tree/node-store.ts';
export * from './entries/unsupported-entry-error.ts';
export { VERSIONS, type Versions } from './versions.ts';
