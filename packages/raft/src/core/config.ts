/**
 * What one core is told once: who belonged to the cluster at its begin, how long to wait, how much to have under way. In every limit of bytes an entry counts as
 * its data and ENTRY_OVERHEAD_BYTES.
 */

import type { Configuration } from './membership/configuration.ts';
import type { ServerId } from './types.ts';

export interface RaftConfig {
  readonly id: ServerId;
  /** The configuration of index 0; without members for a server that waits to be added. */
  readonly initial: Configuration;
  /** Milliseconds between a leader's heartbeats. */
  readonly heartbeatMs: number;
  /** A follower waits from this long to twice as long without hearing a leader; a leader without a quorum steps down after it. */
  readonly electionTimeoutMs: number;
  /** With a write under way and none ended for this long the disk counts as hung: the server neither leads nor votes. */
  readonly diskStallMs: number;
  /** Bytes of the entries in one append message (a larger single entry still goes). */
  readonly maxAppendBytes: number;
  /** The same, for a peer that lags: what it needs is long committed, so that nobody waits for it. */
  readonly maxCatchUpBytes: number;
  /** Append messages to one peer without an answer. */
  readonly maxInflightMessages: number;
  /** Bytes of entries to one peer without an answer; the message that reaches the limit still goes. */
  readonly maxInflightBytes: number;
  /**
   * Followers outside the eager quorum receive appends at most once per this interval, in milliseconds. 0 replicates to every follower
   * at once. @default 10
   */
  readonly deferredFollowerDelayMs: number;
  /** Bytes of proposed entries that are not committed; further proposals are refused as overloaded (one alone always goes). */
  readonly maxUncommittedBytes: number;
  /** Reads that wait for a quorum round; further ones are refused as overloaded. */
  readonly maxPendingReads: number;
  /** Bytes of committed entries that stay in memory, for followers that lag and to be applied; the rest is read from disk. */
  readonly tailBytes: number;
  /**
   * The same for entries that are applied here and acknowledged by all followers. Few, so that most entries die young: what outlives a
   * collection or two of the young generation is copied each time.
   */
  readonly replicatedTailBytes: number;
  /** Of the random election timeouts. */
  readonly seed: number;
}

export const DEFAULT_RAFT_LIMITS = {
  heartbeatMs: 100,
  electionTimeoutMs: 1_000,
  diskStallMs: 1_000,
  maxAppendBytes: 1024 * 1024,
  maxCatchUpBytes: 128 * 1024,
  maxInflightMessages: 64,
  maxInflightBytes: 8 * 1024 * 1024,
  deferredFollowerDelayMs: 10,
  maxUncommittedBytes: 64 * 1024 * 1024,
  maxPendingReads: 100_000,
  tailBytes: 32 * 1024 * 1024,
  replicatedTailBytes: 128 * 1024,
} as const satisfies Partial<RaftConfig>;

/** Time after which a follower whose leader's process is gone stands, uniform from 0. Short, since nothing can be waited for. */
export const REFUSED_ELECTION_DELAY_MS = 30;
/** How long such a candidate waits for votes before it asks again. Its peers may learn a moment later that the leader is gone. */
export const REFUSED_ELECTION_ROUND_MS = 100;
/** Rounds of that kind before the ordinary timeouts apply again. */
export const REFUSED_ELECTION_ROUNDS = 10;
/** Rounds of catching up (thesis 4.2.1): a learner that has not caught up with the last one is not promoted by itself. */
export const CATCH_UP_ROUNDS = 10;
/** A promotion that was asked for is refused when one round takes this many election timeouts. */
export const CATCH_UP_ROUND_TIMEOUTS = 10;
