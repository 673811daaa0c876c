/**
 * What a server holds whatever its role: the log, the configurations in force, term and vote, the writes that make them durable, the
 * role, and the effects of the group of events that is being handled.
 */

import { ActiveMembership } from './membership/active-membership.ts';
import type { RaftConfig } from './config.ts';
import type { DurableState } from './durable-state.ts';
import type { Effect } from './event.ts';
import { invariant } from './invariant.ts';
import type { Leader } from './roles/leader.ts';
import { RaftLog } from './log/log.ts';
import { createPrng } from './prng.ts';
import { ElectionTimer, Follower, type RoleState } from './roles/role-state.ts';
import {
  EntryType,
  LOG_START,
  NO_SERVER,
  minIndex,
  nextIndex,
  type Entry,
  type LogIndex,
  type Message,
  type ServerId,
  type SnapshotPosition,
  type Term,
  type WriteSeq,
} from './types.ts';
import { WriteQueue } from './write-queue.ts';

/** `timeout`: no leader was heard for an election timeout. `refused`: its address refused. `transfer`: the leader transferred leadership. */
export type ElectionCause = 'timeout' | 'refused' | 'transfer';
export type ElectionCounts = Readonly<Record<ElectionCause, number>>;

export class CoreState {
  readonly config: RaftConfig;
  readonly random: () => number;
  readonly log: RaftLog;
  readonly membership: ActiveMembership;
  readonly writes: WriteQueue;
  /** Servers that messages can reach, members or not. */
  readonly connected = new Set<ServerId>();

  /** Milliseconds; the time of the last step. */
  now: number;
  /** Milliseconds that the steps have counted, each at most a heartbeat interval: a clock that a late event loop does not move on. */
  countedMs = 0;
  role: RoleState = new Follower(NO_SERVER, new ElectionTimer(0, 0));
  term: Term;
  votedFor: ServerId;
  commit: LogIndex;
  applied: LogIndex;

  /** This server has clients, which wait for news of commits. */
  eagerCommit = false;
  /** This server may not vote; since this term. */
  voteBan: Term | undefined;
  /** It led, and has stepped down since it heard no quorum. */
  quorumLost = false;
  /** The last leadership ended in a transfer: to whom, and in which term. */
  lastTransfer: { readonly target: ServerId; readonly term: Term } | undefined;
  /** The last round of heartbeats that this server began. One leadership counts on from the one before. */
  round = 0;
  /** Begun since the start, by cause. */
  readonly elections: Record<ElectionCause, number> = { timeout: 0, refused: 0, transfer: 0 };
  /** The answer to this group's appends; one for all of them. */
  pendingAck: { readonly to: ServerId; readonly term: Term; readonly index: LogIndex } | undefined;

  #effects: Effect[] = [];
  #applyUpTo: LogIndex;

  constructor(config: RaftConfig, boot: DurableState, now: number) {
    this.config = config;
    this.now = now;
    this.random = createPrng(config.seed);
    this.log = new RaftLog(boot, config);
    this.writes = new WriteQueue(boot.lastIndex);
    const begin = boot.snapshot ?? LOG_START;
    invariant(this.log.termAt(begin.index) === begin.term, 'the-log-goes-on-from-its-snapshot');
    this.commit = begin.index;
    this.applied = begin.index;
    this.#applyUpTo = begin.index;
    this.membership = new ActiveMembership(config.id, config.initial, boot.snapshot);
    for (const { index, data } of boot.configurations) if (index > begin.index) this.membership.append(index, data);
    this.term = boot.hardState.term;
    this.votedFor = boot.hardState.votedFor;
    this.voteBan = boot.voteBan;
    invariant(this.term >= this.log.lastTerm, 'the-log-has-no-term-above-the-own');
    this.#reconfigure();
  }

  /** Whether this server may stand for election. */
  get mayStand(): boolean {
    return this.membership.mayStand(this.commit);
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
  get fullyReplicatedIndex(): LogIndex {
    let replicated = minIndex(this.applied, this.writes.stableIndex);
    if (this.role.type !== 'leader') return replicated;
    for (const { match } of this.role.progress.values()) replicated = minIndex(replicated, match);
    return replicated;
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
    this.writes.setHardState({ term, votedFor });
  }

  appendEntry(entry: Entry): void {
    this.log.append(entry);
    this.writes.append(entry);
    if (entry.type !== EntryType.configuration) return;
    this.membership.append(entry.index, entry.data);
    this.#reconfigure();
  }

  truncateFrom(index: LogIndex): void {
    invariant(index > this.commit, 'committed-entries-are-never-removed', () => `${index}, commit ${this.commit}`);
    this.log.truncateFrom(index);
    if (this.membership.configurations.truncateFrom(index)) this.#reconfigure();
    this.writes.truncateFrom(index);
  }

  /** The log differs from a committed snapshot, or ends before it: the whole of it is replaced. */
  beginLogAt(position: SnapshotPosition): void {
    invariant(
      position.index > this.commit,
      'only-a-state-ahead-is-installed',
      () => `${position.index}, ${this.commit}`,
    );
    this.log.beginAt(position);
    this.membership.beginAt(position);
    this.#reconfigure();
    this.writes.beginLogAt(position);
  }

  /** Sent once `after` and the present term and vote are durable. */
  send(to: ServerId, message: Message, after = 0 as WriteSeq): void {
    this.#effects.push({ type: 'send', to, message, after: this.writes.awaited(after) });
  }

  effect(effect: Effect): void {
    this.#effects.push(effect);
  }

  advanceCommit(index: LogIndex): void {
    if (index <= this.commit) return;
    invariant(index <= this.log.lastIndex, 'commit-is-within-the-log', () => `${index} of ${this.log.lastIndex}`);
    const { latest } = this.membership;
    const commits = latest.index > this.commit && latest.index <= index;
    this.commit = index;
    if (!commits) return;
    const before = this.role.type === 'leader' ? this.role.progress : [];
    this.#reconfigure();
    for (const [peer, { connected, match }] of before) {
      if (!connected || this.membership.peers.includes(peer)) continue;
      // The last that it hears: that its removal is committed.
      this.send(peer, { type: 'commit', term: this.term, commit: minIndex(match, index) });
    }
  }

  /** Ends a group: the write first, so that it starts first; commit news last, after whatever the applies lead to. */
  takeEffects(commitNews: () => void): Effect[] {
    const write = this.writes.take(this.log.lastIndex);
    if (write !== undefined) this.#effects.unshift(write);
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

  /** After every change of which configurations count. */
  #reconfigure(): void {
    this.membership.update(this.commit);
    if (this.role.type === 'leader') this.role.follow(this.membership, this.connected, nextIndex(this.log.lastIndex));
  }
}
