/**
 * The state that the handlers share, and the few ways in which they change it. Effects are gathered for a group of events: all
 * writes of a group are one persist effect, and what reveals them names it.
 */

import type { RaftConfig } from './config.ts';
import type { Effect, RejectReason } from './event.ts';
import { invariant } from './invariant.ts';
import { RaftLog } from './log.ts';
import { createPrng } from './prng.ts';
import { Progress } from './progress.ts';
import { quorumSize } from './quorum.ts';
import type { Transfer } from './transfer.ts';
import {
  LOG_START,
  NO_SERVER,
  logIndex,
  maxIndex,
  minIndex,
  previousIndex,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type Message,
  type ServerId,
  type SnapshotPosition,
  type Term,
  type TermMark,
  type WriteSeq,
} from './types.ts';

export type CoreRole = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

interface PendingWrite {
  readonly seq: WriteSeq;
  hardState: HardState | undefined;
  snapshot: LogPosition | undefined;
  truncateFrom: LogIndex | undefined;
  entries: Entry[];
}

interface OutstandingWrite {
  readonly seq: WriteSeq;
  /** The last index that is durable with it; lowered when a later truncation removes entries. */
  lastIndex: LogIndex;
}

/** A batch of reads that one quorum round confirms. */
export interface ReadRound {
  readonly round: number;
  readonly index: LogIndex;
  readonly tickets: readonly number[];
}

export interface Boot {
  readonly hardState: HardState;
  /** What comes before the first entry. */
  readonly base: LogPosition;
  readonly lastIndex: LogIndex;
  readonly terms: readonly TermMark[];
  /** Within the log; where the state begins, which is committed and applied. */
  readonly snapshot: SnapshotPosition | undefined;
  /** The log has lost what was acknowledged; from this term on (vote-ban.ts). */
  readonly voteBan?: Term;
}

/** `timeout`: no leader was heard for an election timeout. `refused`: its address refused. `transfer`: the leader handed over. */
export type ElectionCause = 'timeout' | 'refused' | 'transfer';
export type ElectionCounts = Readonly<Record<ElectionCause, number>>;

export class CoreState {
  readonly config: RaftConfig;
  readonly log: RaftLog;
  /** Sorted, without the own id. */
  readonly peers: readonly ServerId[];
  readonly random: () => number;

  role: CoreRole = 'follower';
  term: Term;
  votedFor: ServerId;
  leader: ServerId = NO_SERVER;
  commit: LogIndex = logIndex(0);
  applied: LogIndex = logIndex(0);

  /** Milliseconds since a leader was heard, a vote was given or an election began; counted in clamped steps. */
  electionElapsedMs = 0;
  electionTimeoutMs = 0;
  /** Above 0: the leader's process is known to be gone; this many quick rounds of pre-vote are left. */
  quickRounds = 0;
  eagerCommit = false;
  /** Milliseconds for which writes are under way and none has ended; counted in clamped steps. */
  diskWaitMs = 0;
  /** Begun since the start, by cause. */
  readonly elections: Record<ElectionCause, number> = { timeout: 0, refused: 0, transfer: 0 };
  /** This server may not vote; since this term. */
  voteBan: Term | undefined;
  /** Role candidate and pre-candidate: who has answered, and how. */
  votes = new Map<ServerId, boolean>();

  /** Of every peer; beside `connected`, it means something only to a leader. So does all below. */
  progress: ReadonlyMap<ServerId, Progress>;
  heartbeatElapsedMs = 0;
  quorumElapsedMs = 0;
  /** Since the last look for appends that stay unanswered. */
  retryElapsedMs = 0;
  /** Index of the no-op of this leadership; reads and readiness wait for it. */
  noopIndex: LogIndex = logIndex(0);
  uncommittedBytes = 0;
  round = 0;
  pendingTickets: number[] = [];
  readRounds: ReadRound[] = [];
  transfer: Transfer | undefined;
  /** The term of the present leadership, or of the last one. */
  leaderTerm: Term = 0 as Term;
  /** The last leadership ended in a hand-over: to whom, and in which term. */
  handedOver: { readonly target: ServerId; readonly term: Term } | undefined;

  /** Follower: the answer to this group's appends; one for all of them. */
  pendingAck: { readonly to: ServerId; readonly term: Term; readonly index: LogIndex } | undefined;
  /** Everything up to here is durable here. */
  stableIndex: LogIndex;

  #effects: Effect[] = [];
  #pendingWrite: PendingWrite | undefined;
  #outstanding: OutstandingWrite[] = [];
  /** Where the log ends once every write that was handed out is done. */
  #writtenIndex: LogIndex;
  #lastSeq = 0 as WriteSeq;
  #persistedSeq = 0 as WriteSeq;
  /** The write that made term and vote durable; whatever reveals them waits for it. */
  #hardStateSeq = 0 as WriteSeq;
  #applyUpTo: LogIndex = logIndex(0);

  constructor(config: RaftConfig, boot: Boot) {
    invariant(config.voters.includes(config.id), 'a-server-is-one-of-its-voters');
    this.config = config;
    this.log = new RaftLog(boot, config.tailBytes);
    const begin = boot.snapshot ?? LOG_START;
    invariant(this.log.termAt(begin.index) === begin.term, 'the-log-goes-on-from-its-snapshot');
    this.commit = begin.index;
    this.applied = begin.index;
    this.#applyUpTo = begin.index;
    this.peers = config.voters.filter((id) => id !== config.id).toSorted((a, b) => a - b);
    this.progress = new Map(this.peers.map((peer) => [peer, new Progress(logIndex(boot.lastIndex + 1))]));
    this.random = createPrng(config.seed);
    this.term = boot.hardState.term;
    this.votedFor = boot.hardState.votedFor;
    this.voteBan = boot.voteBan;
    this.stableIndex = boot.lastIndex;
    this.#writtenIndex = boot.lastIndex;
    invariant(this.term >= this.log.lastTerm, 'the-log-has-no-term-above-the-own');
  }

  get quorum(): number {
    return quorumSize(this.config.voters.length);
  }

  /** Whether a leader may read at its commit index: an entry of its own term is committed. */
  get ownTermCommitted(): boolean {
    return this.role === 'leader' && this.commit >= this.noopIndex;
  }

  setHardState(term: Term, votedFor: ServerId): void {
    invariant(term >= this.term, 'the-term-never-falls');
    invariant(
      term > this.term || this.votedFor === NO_SERVER || votedFor === this.votedFor,
      'one-vote-a-term',
      () => `term ${term}: ${this.votedFor}, then ${votedFor}`,
    );
    if (term === this.term && votedFor === this.votedFor) return;
    this.term = term;
    this.votedFor = votedFor;
    const write = this.#write();
    write.hardState = { term, votedFor };
    this.#hardStateSeq = write.seq;
  }

  appendEntry(entry: Entry): void {
    this.log.append(entry);
    this.#write().entries.push(entry);
  }

  truncateFrom(index: LogIndex): void {
    invariant(index > this.commit, 'committed-entries-are-never-removed', () => `${index}, commit ${this.commit}`);
    this.log.truncateFrom(index);
    const last = previousIndex(index);
    this.stableIndex = minIndex(this.stableIndex, last);
    for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, last);
    const write = this.#write();
    write.entries = write.entries.filter((entry) => entry.index < index);
    // Entries of this very group never reach the disk, so only what earlier writes hold has to be cut.
    if (index <= this.#writtenIndex) write.truncateFrom = minIndex(write.truncateFrom ?? index, index);
  }

  /** The log differs from a committed snapshot, or ends before it: the whole of it is replaced. */
  beginLogAt(position: LogPosition): void {
    invariant(
      position.index > this.commit,
      'only-a-state-ahead-is-installed',
      () => `${position.index}, ${this.commit}`,
    );
    this.log.beginAt(position);
    this.stableIndex = position.index;
    for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, position.index);
    const write = this.#write();
    write.snapshot = position;
    write.truncateFrom = undefined;
    write.entries = [];
    this.#writtenIndex = position.index;
  }

  /** Sent once `after` and the present term and vote are durable. */
  send(to: ServerId, message: Message, after = 0 as WriteSeq): void {
    const needed = after > this.#hardStateSeq ? after : this.#hardStateSeq;
    this.#effects.push({ type: 'send', to, message, after: needed > this.#persistedSeq ? needed : undefined });
  }

  /** The write after which everything that this core holds so far is durable. */
  get lastSeq(): WriteSeq {
    return this.#lastSeq;
  }

  effect(effect: Effect): void {
    this.#effects.push(effect);
  }

  rejectReads(reason: RejectReason): void {
    const tickets = [...this.readRounds.flatMap((round) => round.tickets), ...this.pendingTickets];
    this.readRounds = [];
    this.pendingTickets = [];
    if (tickets.length > 0) this.effect({ type: 'read-rejected', tickets, reason });
  }

  advanceCommit(index: LogIndex): void {
    if (index <= this.commit) return;
    invariant(index <= this.log.lastIndex, 'commit-is-within-the-log', () => `${index} of ${this.log.lastIndex}`);
    this.commit = index;
  }

  persisted(seq: WriteSeq): void {
    invariant(seq <= this.#lastSeq, 'only-issued-writes-complete');
    this.#persistedSeq = seq > this.#persistedSeq ? seq : this.#persistedSeq;
    while ((this.#outstanding[0]?.seq ?? Infinity) <= seq) {
      const write = this.#outstanding.shift();
      this.diskWaitMs = 0;
      if (write !== undefined) this.stableIndex = maxIndex(this.stableIndex, write.lastIndex);
    }
  }

  /** Whether a write is under way. */
  get writing(): boolean {
    return this.#outstanding.length > 0;
  }

  /** What {@link stableIndex} will be when the write and all before it are done. */
  stableIndexAfter(seq: WriteSeq): LogIndex {
    let stable = this.stableIndex;
    for (const write of this.#outstanding) if (write.seq <= seq) stable = maxIndex(stable, write.lastIndex);
    return stable;
  }

  /** Whether the vote for itself is durable. */
  get hardStatePersisted(): boolean {
    return this.#persistedSeq >= this.#hardStateSeq;
  }

  /** Ends a group: the write first, so that it starts first; commit news last, after whatever the applies lead to. */
  takeEffects(commitNews: () => void): Effect[] {
    const write = this.#pendingWrite;
    this.#pendingWrite = undefined;
    const effects: Effect[] = [];
    if (write !== undefined) {
      const { seq, hardState, snapshot, truncateFrom, entries } = write;
      effects.push({ type: 'persist', seq, hardState, snapshot, truncateFrom, entries });
      this.#outstanding.push({ seq, lastIndex: this.log.lastIndex });
      this.#writtenIndex = this.log.lastIndex;
    }
    effects.push(...this.#effects);
    this.#effects = effects;
    if (this.commit > this.#applyUpTo) {
      this.#applyUpTo = this.commit;
      this.effect({ type: 'apply', upTo: this.commit });
    }
    commitNews();
    const all = this.#effects;
    this.#effects = [];
    return all;
  }

  resetElectionTimer(): void {
    this.electionElapsedMs = 0;
    this.electionTimeoutMs = this.config.electionTimeoutMs * (1 + this.random());
  }

  #write(): PendingWrite {
    if (this.#pendingWrite === undefined) {
      this.#lastSeq = (this.#lastSeq + 1) as WriteSeq;
      const nothing = { hardState: undefined, snapshot: undefined, truncateFrom: undefined };
      this.#pendingWrite = { seq: this.#lastSeq, ...nothing, entries: [] };
    }
    return this.#pendingWrite;
  }
}
