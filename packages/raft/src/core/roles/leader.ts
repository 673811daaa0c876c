/**
 * What exists in a leader alone. It begins with the leadership and ceases to exist with it: who has it in hand got it from `core.role`,
 * or from a caller who did.
 */

import type { ActiveMembership } from '../membership/active-membership.ts';
import type { RaftConfig } from '../config.ts';
import { Progress } from '../replication/progress.ts';
import type { Transfer } from '../transfer/transfer-under-way.ts';
import { logIndex, type LogIndex, type ServerId, type Term } from '../types.ts';

/** A batch of reads that one quorum round confirms. */
export interface ReadRound {
  readonly round: number;
  readonly index: LogIndex;
  readonly tickets: readonly number[];
}

/** A learner on its way to a vote: each round is what the log had gained when the one before it was over. */
export interface CatchUp {
  round: number;
  target: LogIndex;
  elapsedMs: number;
  /** Of a promotion that was asked for. */
  readonly ticket: number | undefined;
}

export class Leader {
  readonly type = 'leader';
  readonly term: Term;
  /** The no-op that this leadership began with: reads and readiness wait for its commit. */
  readonly noopIndex: LogIndex;
  /** By `countedMs`: when this leadership began. */
  readonly sinceMs: number;
  /** Of every peer. */
  progress: ReadonlyMap<ServerId, Progress> = new Map();
  /** Those that vote. */
  voterProgress: readonly Progress[] = [];
  /** The voters have changed: what a quorum has done already may now suffice. */
  recount = false;

  /** The eager quorum is complete, so that the other followers may be deferred; and until when at most. */
  eagerQuorumStands = false;
  deferredDueAt = Infinity;
  uncommittedBytes = 0;
  /** The last commit index that came with an entry that takes long to apply. */
  longCommit: LogIndex = logIndex(0);
  /** Since the last count of appends that stay unanswered. */
  retryElapsedMs = 0;

  heartbeatElapsedMs: number;
  /** By `countedMs`: a quorum was heard then, or later. */
  quorumHeardMs: number;

  /** Reads that wait for the next round, and those whose round is under way. */
  pendingTickets: number[] = [];
  readRounds: ReadRound[] = [];

  /** Of the change that is in the log and not finished. */
  changeTicket: number | undefined;
  readonly catchUps = new Map<ServerId, CatchUp>();
  transfer: Transfer | undefined;

  /** A follower that answered within an election timeout counts as alive. */
  readonly #aliveMs: number;

  /** The first heartbeat is due at once. */
  constructor(term: Term, noopIndex: LogIndex, countedMs: number, { heartbeatMs, electionTimeoutMs }: RaftConfig) {
    this.term = term;
    this.noopIndex = noopIndex;
    this.sinceMs = countedMs;
    this.quorumHeardMs = countedMs;
    this.heartbeatElapsedMs = heartbeatMs;
    this.#aliveMs = electionTimeoutMs;
  }

  /** What is known of a peer that stays is kept; of a new one nothing is known, and it is asked for what comes before `next`. */
  follow({ peers, electorate }: ActiveMembership, connected: ReadonlySet<ServerId>, next: LogIndex): void {
    this.progress = new Map(peers.map((peer) => [peer, this.progress.get(peer) ?? this.#begin(peer, next, connected)]));
    this.voterProgress = electorate.flatMap((peer) => this.progress.get(peer) ?? []);
    this.recount = true;
  }

  #begin(peer: ServerId, next: LogIndex, connected: ReadonlySet<ServerId>): Progress {
    return new Progress(next, { connected: connected.has(peer), aliveMs: this.#aliveMs });
  }
}
