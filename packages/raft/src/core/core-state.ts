/**
 * The state that the handlers share, and the few ways in which they change it. Effects are gathered for a group of events: all
 * writes of a group are one persist effect, and what reveals them names it.
 */

import type { RaftConfig } from './config.ts';
import type { Effect } from './event.ts';
import type { VoterSets } from './active-quorums.ts';
import { decodeConfiguration } from './configuration-codec.ts';
import { ConfigurationHistory, type ConfigurationAt } from './configuration-history.ts';
import { memberOf, voterSets } from './configuration.ts';
import { invariant } from './invariant.ts';
import type { Leader } from './leader.ts';
import { RaftLog } from './log.ts';
import { createPrng } from './prng.ts';
import { ElectionTimer, Follower, type RoleState } from './roles.ts';
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
  /** Servers that messages can reach, members or not. */
  readonly connected = new Set<ServerId>();
  readonly random: () => number;

  /** Milliseconds; the time of the last step. */
  now: number;
  /** Milliseconds that the steps have counted, each at most a heartbeat interval: a clock that a late event loop does not move on. */
  countedMs = 0;
  role: RoleState = new Follower(NO_SERVER, new ElectionTimer(0, 0));
  term: Term;
  votedFor: ServerId;
  /** It led, and has stepped down since it heard no quorum. */
  quorumLost = false;
  commit: LogIndex = logIndex(0);
  applied: LogIndex = logIndex(0);

  eagerCommit = false;
  /** Milliseconds for which writes are under way and none has ended; counted in clamped steps. */
  diskWaitMs = 0;
  /** Begun since the start, by cause. */
  readonly elections: Record<ElectionCause, number> = { timeout: 0, refused: 0, transfer: 0 };
  /** This server may not vote; since this term. */
  voteBan: Term | undefined;
  /** The last round of heartbeats that this server began. One leadership counts on from the one before. */
  round = 0;
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

  /** The leader of the present term; NO_SERVER while it is unknown. */
  get leader(): ServerId {
    switch (this.role.type) {
      case 'follower':
        return this.role.leader;
      case 'pre-candidate':
      case 'candidate':
        return NO_SERVER;
      case 'leader':
        return this.config.id;
    }
  }

  /** Whether a leader may read at its commit index: an entry of its own term is committed. */
  ownTermCommitted({ noopIndex }: Leader): boolean {
    return this.commit >= noopIndex;
  }

  /** Entries up to here are on disk, applied, and acknowledged by all whom this server leads: seldom will anyone ask for them. */
  get settledIndex(): LogIndex {
    let settled = minIndex(this.applied, this.stableIndex);
    if (this.role.type !== 'leader') return settled;
    for (const { match } of this.role.progress.values()) settled = minIndex(settled, match);
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

  advanceCommit(index: LogIndex): void {
    if (index <= this.commit) return;
    invariant(index <= this.log.lastIndex, 'commit-is-within-the-log', () => `${index} of ${this.log.lastIndex}`);
    const { latest } = this.configurations;
    const commits = latest.index > this.commit && latest.index <= index;
    this.commit = index;
    if (!commits) return;
    const before = this.role.type === 'leader' ? this.role.progress : [];
    this.#reconfigure();
    for (const [peer, { connected, match }] of before) {
      if (!connected || this.peers.includes(peer)) continue;
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

  randomElectionTimeoutMs(): number {
    return this.config.electionTimeoutMs * (1 + this.random());
  }

  /** The one that a snapshot says was in force at its end; without one, that of index 0. */
  #configurationOf(snapshot: SnapshotPosition | undefined): ConfigurationAt {
    if (snapshot === undefined) return { index: logIndex(0), configuration: this.config.initial };
    return { index: snapshot.index, configuration: decodeConfiguration(snapshot.configuration) };
  }

  /** After every change of which configurations count. */
  #reconfigure(): void {
    const { id } = this.config;
    const peers = new Set<ServerId>();
    for (const { configuration } of this.configurations.since(this.commit)) {
      for (const member of configuration.members) if (member.id !== id) peers.add(member.id);
    }
    this.peers = [...peers].toSorted((a, b) => a - b);
    const { configuration } = this.configurations.latest;
    this.voterSets = voterSets(configuration);
    this.configurationVersion += 1;
    this.settled =
      memberOf(configuration, id) !== undefined &&
      !configuration.members.some(({ role, outgoing }) => outgoing || role === 'learner');
    const voters = new Set(this.voterSets.flat());
    this.electorate = this.peers.filter((peer) => voters.has(peer));
    if (this.role.type === 'leader') this.role.follow(this, nextIndex(this.log.lastIndex));
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
