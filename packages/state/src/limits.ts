/**
 * Bounds of the replicated state beside those of the protocol. They decide results, so every server must have the same: changing
 * one is a change of the state machine's behaviour, like a new command.
 */

import { MAX_ACQUIRES_PER_SESSION, MAX_EARLY_PATH_LENGTH, MAX_FRAME_BYTES } from '@holdfast/protocol';

export interface StateLimits {
  /** Living sessions. */
  readonly maxSessions: number;
  /** Those of one label, none included: equal clients leave room to others. */
  readonly maxSessionsPerLabel: number;
  /** Nodes of the tree, locks' containers and queue nodes included. */
  readonly maxNodes: number;
  /** A whole path, in UTF-16 units. */
  readonly maxPathLength: number;
  /** Data of all nodes together. */
  readonly maxTreeDataBytes: number;
  /** Names of all nodes together, as they are kept: a byte for each UTF-16 unit, two in a name with a unit above 255. */
  readonly maxTreeNameBytes: number;
  /** Ephemeral nodes of one session, queue nodes not counted. */
  readonly maxEphemeralsPerSession: number;
  /** Ephemeral nodes that one entry removes when their session ends; what has more ends over several. */
  readonly maxNodesPerEnd: number;
  /**
   * What the answers take that one session, or all together, have not acknowledged. The least is every session's, whatever others
   * keep; more than it are refused once they take so much.
   */
  readonly leastReplyBytesPerSession: number;
  readonly maxReplyBytesPerSession: number;
  readonly maxReplyBytes: number;
  /** Waits and holds of one session together. */
  readonly maxAcquiresPerSession: number;
  /** The same, encoded: the attach reply lists them in one frame. */
  readonly maxAcquireListBytes: number;
  /** Locks that are delayed, and places of waits and holds that ask for a delay, together: so many locks are delayed at most. */
  readonly maxLockDelays: number;
  /** The names of one node's children, encoded, as one answer may carry them. */
  readonly maxChildrenBytes: number;
  /** Acquires that are looked at to find the deadlocks of one entry; for more it finds none. */
  readonly maxDeadlockVisits: number;
}

export const STATE_LIMITS: StateLimits = {
  maxSessions: 100_000,
  maxSessionsPerLabel: 50_000,
  maxNodes: 4_000_000,
  maxPathLength: MAX_EARLY_PATH_LENGTH,
  maxTreeDataBytes: 512 * 1024 * 1024,
  maxTreeNameBytes: 256 * 1024 * 1024,
  maxEphemeralsPerSession: 200_000,
  maxNodesPerEnd: 500,
  leastReplyBytesPerSession: 2_048,
  maxReplyBytesPerSession: 1024 * 1024,
  maxReplyBytes: 64 * 1024 * 1024,
  maxAcquiresPerSession: MAX_ACQUIRES_PER_SESSION,
  maxAcquireListBytes: MAX_FRAME_BYTES - 1024 * 1024,
  maxLockDelays: 100_000,
  maxChildrenBytes: MAX_FRAME_BYTES - 64 * 1024,
  maxDeadlockVisits: 2_000,
};

/** Attachments of one session; an entry's header has 32 bits for the number. */
export const MAX_GENERATION = 0xffff_ffff;
