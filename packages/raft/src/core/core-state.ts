/**
 * The state that the handlers share, and the few ways in which they change it. Effects are gathered for a group of events: all
 * writes of a group are one persist effect, and what reveals them names it.
 */

import type { RaftConfig } from './config.ts';
import type { Effect, RejectReason } from './event.ts';
import type { VoterSets } from './active-quorums.ts';
import { decodeConfiguration } from './configuration-codec.ts';
import { ConfigurationHistory, type ConfigurationAt } from './configuration-history.ts';
import { memberOf, voterSets } from './configuration.ts';
import { invariant } from './invariant.ts';
import { RaftLog } from './log.ts';
import { createPrng } from './prng.ts';
import { Progress } from './progress.ts';
import type { Transfer } from './transfer-under-way.ts';
import {
  EntryType,
  LOG_START,
  NO_SERVER,
  logIndex,
  maxIndex,
  minIndex,
  nextIndex,
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

/** A learner on its way to a vote: each round is what the log had gained when the one before it was over. */
export interface CatchUp {
  round: number;
  target: LogIndex;
  elapsedMs: number;
  /** Of a promotion that was asked for. */
  readonly ticket: number | undefined;
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
  /** The configuration entries of the log, in order. */
  readonly configurations: readonly ConfigurationEntry[];
}

/** `data` is that of the entry. */
export interface ConfigurationEntry {
  readonly index: LogIndex;
  readonly data: Uint8Array;
}

/** `timeout`: no leader was heard for an election timeout. `refused`: its address refused. `transfer`: the leader handed over. */
export type ElectionCause = 'timeout' | 'refused' | 'transfer';
export type ElectionCounts = Readonly<Record<ElectionCause, number>>;

export class CoreState {
  readonly config: RaftConfig;
  readonly log: RaftLog;
  readonly configurations: ConfigurationHistory;
  /** Whom a leader replicates to, sorted, without the own id: members, and those that a configuration still uncommitted removes. */
  peers: readonly ServerId[] = [];
  /** Whose majorities decide, by the configuration in force. */
  voterSets: VoterSets = [];
  /** Those of the peers whose votes count, in one of the sets or in both. */
  electorate: readonly ServerId[] = [];
  /** The configuration in force leads nowhere else: it is not joint, and has this server and no learner in it. */
  settled = true;
  /** Grows whenever another configuration counts, or one becomes committed. */
  configurationVersion = 0;
  /** The voters have changed: what a quorum has done already may now suffice. */
  recount = false;
  /** Servers that messages can reach, members or not. */
  readonly connected = new Set<ServerId>();
  readonly random: () => number;

  /** Milliseconds; the time of the last step. */
  now: number;
  /** Milliseconds that the steps have counted, each at most a heartbeat interval: a clock that a late event loop does not move on. */
  countedMs = 0;
  role: CoreRole = 'follower';
  term: Term;
  votedFor: ServerId;
  leader: ServerId = NO_SERVER;
  /** It led, and has stepped down since it heard no quorum. */
  quorumLost = false;
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
  progress: ReadonlyMap<ServerId, Progress> = new Map();
  /** Those that vote. */
  voterProgress: readonly Progress[] = [];
  /** The front is complete, so that the others may wait; and until when at most. */
  frontLeads = false;
  rearDueAt = Infinity;
  heartbeatElapsedMs = 0;
  /** By `countedMs`: a quorum was heard then, or later. */
  quorumHeardMs = 0;
  /** By `countedMs`: it became leader then. */
  leaderSinceMs = 0;
  /** Since the last look for appends that stay unanswered. */
  retryElapsedMs = 0;
  /** Index of the no-op of this leadership; reads and readiness wait for it. */
  noopIndex: LogIndex = logIndex(0);
  uncommittedBytes = 0;
  round = 0;
  pendingTickets: number[] = [];
  readRounds: ReadRound[] = [];
  /** Of the change that is in the log and not finished. */
  changeTicket: number | undefined;
  readonly catchUps = new Map<ServerId, CatchUp>();
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

  constructor(config: RaftConfig, boot: Boot, now: number) {
    this.config = config;
    this.now = now;
    this.log = new RaftLog(boot, config);
    const begin = boot.snapshot ?? LOG_START;
    invariant(this.log.termAt(begin.index) === begin.term, 'the-log-goes-on-from-its-snapshot');
    this.commit = begin.index;
    this.applied = begin.index;
    this.#applyUpTo = begin.index;
    this.configurations = new ConfigurationHistory(this.#configurationOf(boot.snapshot));
    for (const { index, data } of boot.configurations) {
      if (index > begin.index) this.configurations.append({ index, configuration: decodeConfiguration(data) });
    }
    this.random = createPrng(config.seed);
    this.term = boot.hardState.term;
    this.votedFor = boot.hardState.votedFor;
    this.voteBan = boot.voteBan;
    this.stableIndex = boot.lastIndex;
    this.#writtenIndex = boot.lastIndex;
    invariant(this.term >= this.log.lastTerm, 'the-log-has-no-term-above-the-own');
    this.#reconfigure();
  }

  /**
   * Whether this server may stand. One that an uncommitted configuration removes still may: it may be the only one that can win where
   * it has the longest log, though its own vote does not count.
   */
  get mayStand(): boolean {
    return this.configurations.since(this.commit).some(({ configuration }) => {
      const member = memberOf(configuration, this.config.id);
      return member !== undefined && (member.role === 'voter' || member.outgoing);
    });
  }

  /** Whether a leader may read at its commit index: an entry of its own term is committed. */
  get ownTermCommitted(): boolean {
    return this.role === 'leader' && this.commit >= this.noopIndex;
  }

  /** Entries up to here are on disk, applied, and acknowledged by all whom this server leads: seldom will anyone ask for them. */
  get settledIndex(): LogIndex {
    let settled = minIndex(this.applied, this.stableIndex);
    if (this.role !== 'leader') return settled;
    for (const { match } of this.progress.values()) settled = minIndex(settled, match);
    return settled;
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
    if (entry.type !== EntryType.configuration) return;
    this.configurations.append({ index: entry.index, configuration: decodeConfiguration(entry.data) });
    this.#reconfigure();
  }

  truncateFrom(index: LogIndex): void {
    invariant(index > this.commit, 'committed-entries-are-never-removed', () => `${index}, commit ${this.commit}`);
    this.log.truncateFrom(index);
    if (this.configurations.truncateFrom(index)) this.#reconfigure();
    const last = previousIndex(index);
    this.stableIndex = minIndex(this.stableIndex, last);
    for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, last);
    const write = this.#write();
    write.entries = write.entries.filter((entry) => entry.index < index);
    // Entries of this very group never reach the disk, so only what earlier writes hold has to be cut.
    if (index <= this.#writtenIndex) write.truncateFrom = minIndex(write.truncateFrom ?? index, index);
  }

  /** The log differs from a committed snapshot, or ends before it: the whole of it is replaced. */
  beginLogAt(position: SnapshotPosition): void {
    invariant(
      position.index > this.commit,
      'only-a-state-ahead-is-installed',
      () => `${position.index}, ${this.commit}`,
    );
    this.log.beginAt(position);
    this.configurations.reset(this.#configurationOf(position));
    this.#reconfigure();
    this.stableIndex = position.index;
    for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, position.index);
    const write = this.#write();
    write.snapshot = { index: position.index, term: position.term };
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

  /** Leadership is lost, and with it the knowledge of how changes end. */
  endChanges(): void {
    const tickets = [this.changeTicket, ...[...this.catchUps.values()].map(({ ticket }) => ticket)];
    this.changeTicket = undefined;
    this.catchUps.clear();
    for (const ticket of tickets) {
      if (ticket !== undefined) this.effect({ type: 'membership-ended', ticket, outcome: { type: 'unknown' } });
    }
  }

  advanceCommit(index: LogIndex): void {
    if (index <= this.commit) return;
    invariant(index <= this.log.lastIndex, 'commit-is-within-the-log', () => `${index} of ${this.log.lastIndex}`);
    const { latest } = this.configurations;
    const commits = latest.index > this.commit && latest.index <= index;
    this.commit = index;
    if (!commits) return;
    const before = this.progress;
    this.#reconfigure();
    for (const [peer, { connected, match }] of before) {
      if (this.role !== 'leader' || !connected || this.progress.has(peer)) continue;
      // The last that it hears: that its removal is committed.
      this.send(peer, { type: 'commit', term: this.term, commit: minIndex(match, index) });
    }
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

  /** A leadership begins: nothing is known of any peer. */
  beginProgress(next: LogIndex): void {
    this.#follow((peer) => this.#newProgress(peer, next));
  }

  /** The one that a snapshot says was in force at its end; without one, that of index 0. */
  #configurationOf(snapshot: SnapshotPosition | undefined): ConfigurationAt {
    if (snapshot === undefined) return { index: logIndex(0), configuration: this.config.initial };
    return { index: snapshot.index, configuration: decodeConfiguration(snapshot.configuration) };
  }

  /** After every change of which configurations count. What is known of a peer that stays is kept. */
  #reconfigure(): void {
    const { id } = this.config;
    const peers = new Set<ServerId>();
    for (const { configuration } of this.configurations.since(this.commit)) {
      for (const member of configuration.members) if (member.id !== id) peers.add(member.id);
    }
    this.peers = [...peers].toSorted((a, b) => a - b);
    const { configuration } = this.configurations.latest;
    this.voterSets = voterSets(configuration);
    this.recount = true;
    this.configurationVersion += 1;
    this.settled =
      memberOf(configuration, id) !== undefined &&
      !configuration.members.some(({ role, outgoing }) => outgoing || role === 'learner');
    const voters = new Set(this.voterSets.flat());
    this.electorate = this.peers.filter((peer) => voters.has(peer));
    const next = nextIndex(this.log.lastIndex);
    this.#follow((peer) => this.progress.get(peer) ?? this.#newProgress(peer, next));
  }

  #follow(progressOf: (peer: ServerId) => Progress): void {
    this.progress = new Map(this.peers.map((peer) => [peer, progressOf(peer)]));
    this.voterProgress = this.electorate.flatMap((peer) => this.progress.get(peer) ?? []);
  }

  #newProgress(peer: ServerId, next: LogIndex): Progress {
    const progress = new Progress(next);
    progress.connected = this.connected.has(peer);
    return progress;
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
