/**
 * Bounds of the replicated state beside those of the protocol. They decide results, so every server must have the same: changing
 * one is a change of the state machine's behaviour, like a new command.
 */

import { MAX_ACQUIRES_PER_SESSION, MAX_FRAME_BYTES } from '@holdfast/protocol';

export interface StateLimits {
  /** Living sessions. */
  readonly maxSessions: number;
  /** Nodes of the tree, locks' containers and queue nodes included. */
  readonly maxNodes: number;
  /** Data of all nodes together. */
  readonly maxTreeDataBytes: number;
  /** Waits and holds of one session together. */
  readonly maxAcquiresPerSession: number;
  /** The same, encoded: the attach reply lists them in one frame. */
  readonly maxAcquireListBytes: number;
  /** The names of one node's children, encoded, as one answer may carry them. */
  readonly maxChildrenBytes: number;
}

export const STATE_LIMITS: StateLimits = {
  maxSessions: 100_000,
  maxNodes: 4_000_000,
  maxTreeDataBytes: 512 * 1024 * 1024,
  maxAcquiresPerSession: MAX_ACQUIRES_PER_SESSION,
  maxAcquireListBytes: MAX_FRAME_BYTES - 1024 * 1024,
  maxChildrenBytes: MAX_FRAME_BYTES - 64 * 1024,
};

/** Attachments of one session; an entry's header has 32 bits for the number. */
export const MAX_GENERATION = 0xffff_ffff;
