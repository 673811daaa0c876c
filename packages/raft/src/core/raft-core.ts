/**
 * Consensus as a pure state machine: a group of events and the present time go in, effects come out, and `deadline` says when to
 * come back at the latest. The same seed, events and times make the same effects.
 */

import { onAppend, onCommit, onHeartbeat, sendAck } from './replication/append.ts';
import { canWait } from './can-wait.ts';
import { advanceLeaderCommit, majorityIndex, onPersisted } from './replication/commit.ts';
import type { RaftConfig } from './config.ts';
import type { ConfigurationAt } from './membership/configuration-history.ts';
import type { ConfiguredMember } from './membership/configuration.ts';
import { CoreState, type ElectionCounts } from './core-state.ts';
import {
  countVotes,
  forgetLeader,
  mayVote,
  onPeerRefused,
  onPreVote,
  onPreVoteResponse,
  onTimeoutNow,
  onVote,
  onVoteResponse,
  resetElectionTimer,
  startPreVote,
} from './election/election.ts';
import { countDiskWait, diskStallDueMs, diskStalls, stepDownForStall } from './election/disk-stall.ts';
import type { DurableState } from './durable-state.ts';
import type { Effect, RaftEvent } from './event.ts';
import { onAppendResponse, onPeerConnection, sendCommitNews } from './replication/follower-answers.ts';
import { invariant } from './invariant.ts';
import type { Leader } from './roles/leader.ts';
import {
  changeRefusal,
  continueMembership,
  onChangeMembership,
  onMemberFacts,
  tickMembership,
} from './membership/membership.ts';
import { hearsQuorum, isNeeded, quorumIsDue, quorumSilenceDueMs } from './election/quorum-contact.ts';
import { broadcastHeartbeat, confirmReads, onHeartbeatResponse, onReadIndex, startReadRound } from './reads/reads.ts';
import { onEntriesRead, onPropose, replicate, tickRetries } from './replication/replication.ts';
import { becomeFollower } from './roles/transitions.ts';
import { isBehindLog, onSnapshotReceived, onSnapshotSent, onSnapshotTaken } from './log/snapshots.ts';
import { continueTransfer, onTransfer, successorOf, tickTransfer, transferDueMs } from './transfer/transfer.ts';
import { beginVoteBan, liftVoteBan } from './election/vote-ban.ts';
import {
  NO_SERVER,
  logIndex,
  minIndex,
  type Entry,
  type LogIndex,
  type Message,
  type Role,
  type ServerId,
  type Term,
} from './types.ts';

const MIN_WAIT_MS = 1;

export interface CoreStatus {
  readonly role: Role;
  readonly term: Term;
  readonly votedFor: ServerId;
  readonly leader: ServerId;
  /** It led, and has stepped down since it heard no quorum; until it follows somebody or leads again. */
  readonly quorumLost: boolean;
  readonly commitIndex: LogIndex;
  readonly lastIndex: LogIndex;
  /** As leader: the index whose application makes the state complete. 0 otherwise. */
  readonly noopIndex: LogIndex;
  /** A write is under way and none has ended for `diskStallMs`: this server leads nobody and votes for nobody. */
  readonly diskStalls: boolean;
  /** After a transfer: who has the whole log of this server's leadership, as long as nobody else can lead the term. NO_SERVER otherwise. */
  readonly successor: ServerId;
  /** Its log has lost what it had acknowledged, and it may not vote yet. */
  readonly voteBanned: boolean;
}

export class RaftCore {
  readonly #core: CoreState;

  /** `now` in milliseconds of the same clock as that of `step`. */
  constructor(config: RaftConfig, boot: DurableState, now: number) {
    this.#core = new CoreState(config, boot, now);
    beginVoteBan(this.#core);
    // Nobody is disturbed by an early pre-vote, and an ensemble that starts as a whole need not wait.
    becomeFollower(this.#core, this.#core.term, NO_SERVER).timer.timeoutMs =
      config.electionTimeoutMs * (0.2 + 0.8 * this.#core.random());
  }

  get status(): CoreStatus {
    const { role, term, votedFor, leader, quorumLost, commit, log } = this.#core;
    const { lastIndex } = log;
    return {
      role: role.type,
      term,
      votedFor,
      leader,
      quorumLost,
      commitIndex: commit,
      lastIndex,
      noopIndex: role.type === 'leader' ? role.noopIndex : logIndex(0),
      diskStalls: diskStalls(this.#core),
      successor: successorOf(this.#core),
      voteBanned: this.#core.voteBan !== undefined,
    };
  }

  get elections(): ElectionCounts {
    return this.#core.elections;
  }

  /** The time of the next `deadline` event, at most one heartbeat interval away. */
  get deadline(): number {
    const core = this.#core;
    const { role } = core;
    const remaining = role.type === 'leader' ? this.#leaderDueMs(role) : role.timer.timeoutMs - role.timer.elapsedMs;
    // A rounding residue must not make a deadline at which nothing is due yet: time would stand still in a simulation.
    if (remaining <= 0) return core.now;
    const next = core.now + Math.max(MIN_WAIT_MS, Math.min(remaining, core.config.heartbeatMs));
    return role.type === 'leader' ? Math.min(next, role.deferredDueAt) : next;
  }

  #leaderDueMs(leader: Leader): number {
    const core = this.#core;
    const heartbeatDueMs = core.config.heartbeatMs - leader.heartbeatElapsedMs;
    return Math.min(
      heartbeatDueMs,
      quorumSilenceDueMs(core, leader),
      diskStallDueMs(core),
      transferDueMs(core, leader),
    );
  }

  /** The configuration in force, from the index of its entry on; committed or not. */
  get configuration(): ConfigurationAt {
    return this.#core.membership.latest;
  }

  get configurationVersion(): number {
    return this.#core.membership.version;
  }

  /** Members of the configuration in force, and those that it removes until it is committed. */
  get replicationTargets(): readonly ConfiguredMember[] {
    const members = new Map<ServerId, ConfiguredMember>();
    for (const { configuration } of this.#core.membership.configurations.since(this.#core.commit)) {
      for (const member of configuration.members) members.set(member.id, member);
    }
    return [...members.values()].toSorted((a, b) => a.id - b.id);
  }

  /** The last configuration that is known to be committed. */
  get committedConfiguration(): ConfigurationAt {
    return this.#core.membership.configurations.asOf(this.#core.commit);
  }

  /** In force at an index that is applied last, or later. */
  configurationAsOf(index: LogIndex): ConfigurationAt {
    return this.#core.membership.configurations.asOf(index);
  }

  /** Whether a change of the configuration may begin now. */
  get mayChange(): boolean {
    return changeRefusal(this.#core) === undefined;
  }

  /** Entries from here on are in memory; older ones are durable, and those on disk from here on may still be about to be replaced. */
  get memoryFrom(): LogIndex {
    return this.#core.log.tailFirst;
  }

  /** Of the log, which has everything behind it. */
  get logBase(): LogIndex {
    return this.#core.log.base.index;
  }

  /** Everything up to here is durable here. */
  get stableIndex(): LogIndex {
    return this.#core.writes.stableIndex;
  }

  /**
   * As leader: enough followers to be a quorum with it have acknowledged everything up to here, once this peer has up to `match`. 0
   * otherwise.
   */
  replicatedIndex(peer = NO_SERVER, match = logIndex(0)): LogIndex {
    const core = this.#core;
    return core.role.type === 'leader' ? majorityIndex(core, core.role, core.log.lastIndex, peer, match) : logIndex(0);
  }

  /** Undefined beyond the log, and where it was compacted. */
  termAt(index: LogIndex): Term | undefined {
    return this.#core.log.termAt(index);
  }

  /** Whether, as leader, it has no other way to bring the peer on. */
  needsSnapshot(peer: ServerId): boolean {
    const { role } = this.#core;
    const progress = role.type === 'leader' ? role.progress.get(peer) : undefined;
    return progress !== undefined && isBehindLog(this.#core, progress);
  }

  /** Whether, as leader, it can commit nothing before the peer has what it lacks. */
  isNeeded(peer: ServerId): boolean {
    const { role } = this.#core;
    return role.type === 'leader' && isNeeded(this.#core, role, peer);
  }

  /** Committed entries in order from `from`; undefined when they are no longer in memory. */
  entries(from: LogIndex, to: LogIndex, maxBytes: number): Entry[] | undefined {
    return this.#core.log.slice(from, minIndex(to, this.#core.commit), maxBytes);
  }

  /**
   * Whether a step for this event alone would have no effects, and later ones the same whether they come before it or with it. True
   * only with respect to what was stepped: of two such events together the second may be what a commit waits for.
   */
  canWait(event: RaftEvent): boolean {
    return canWait(this.#core, event);
  }

  /** The events of one turn, in order of arrival. Messages go out as if all had come at once. @throws InvariantError */
  step(events: readonly RaftEvent[], now: number): Effect[] {
    const core = this.#core;
    this.#tick(now);
    for (const event of events) this.#handle(event);
    const { role } = core;
    if (role.type === 'leader' && (quorumIsDue(core, role) || diskStalls(core))) this.#judgeLeadership(role);
    if (core.role.type === 'leader') this.#continueChanges(core.role);
    if (core.role.type === 'leader') this.#send(core.role);
    sendAck(core);
    liftVoteBan(core);
    const effects = core.takeEffects(() => {
      if (core.role.type === 'leader') sendCommitNews(core, core.role);
    });
    // What is committed and waits to be applied, behind an installation say, can be read from disk again.
    core.log.shrinkTail(minIndex(core.commit, core.writes.stableIndex), core.fullyReplicatedIndex);
    return effects;
  }

  /**
   * Counts at most one heartbeat interval a step: Node runs due timers before it reads sockets, so after a stall the messages that
   * prove a leader alive are still unread when the timer fires.
   */
  #tick(now: number): void {
    const core = this.#core;
    invariant(now >= core.now, 'time-never-goes-back');
    const elapsedMs = Math.min(now - core.now, core.config.heartbeatMs);
    core.now = now;
    core.countedMs += elapsedMs;
    countDiskWait(core, elapsedMs);
    if (core.role.type !== 'leader') {
      core.role.timer.elapsedMs += elapsedMs;
      return;
    }
    const leader = core.role;
    leader.heartbeatElapsedMs += elapsedMs;
    tickRetries(core, leader, elapsedMs);
    tickTransfer(core, leader, elapsedMs);
    tickMembership(leader, elapsedMs);
  }

  #handle(event: RaftEvent): void {
    const core = this.#core;
    switch (event.type) {
      case 'message':
        this.#receive(event.from, event.message);
        return;
      case 'propose':
        onPropose(core, event.commands);
        return;
      case 'deadline':
        this.#onDeadline();
        return;
      case 'persisted':
        core.writes.persisted(event.seq);
        countVotes(core);
        onPersisted(core);
        return;
      case 'disk-worked':
        core.writes.waitMs = 0;
        return;
      case 'applied':
        invariant(event.index >= core.applied && event.index <= core.commit, 'only-committed-entries-are-applied');
        core.applied = event.index;
        core.membership.configurations.forgetBefore(minIndex(event.index, core.commit));
        return;
      case 'read-index':
        onReadIndex(core, event.ticket);
        return;
      case 'peer-connected':
      case 'peer-disconnected':
        onPeerConnection(core, event.peer, event.type === 'peer-connected');
        return;
      case 'peer-refused':
        onPeerRefused(core, event.peer);
        return;
      case 'entries-read':
        onEntriesRead(core, event.peer, event.term, event.entries);
        return;
      case 'snapshot-taken':
        onSnapshotTaken(core, event.position, event.compactTo);
        return;
      case 'snapshot-received':
        onSnapshotReceived(core, event);
        return;
      case 'snapshot-sent':
        onSnapshotSent(core, event);
        return;
      case 'transfer':
        onTransfer(core, event.ticket, event.target);
        return;
      case 'eager-commit':
        core.eagerCommit = event.eager;
        return;
      case 'change-membership':
        onChangeMembership(core, event.ticket, event.change);
        return;
      case 'member-facts':
        onMemberFacts(core, event.facts);
        return;
    }
  }

  /**
   * Answers count from members only. What is asked is answered to anyone: a server that lags may not know yet who was added, and the
   * ensemble may need its vote.
   */
  #receive(from: ServerId, message: Message): void {
    const core = this.#core;
    if (isAnswer(message) && !core.membership.peers.includes(from)) return;
    switch (message.type) {
      case 'pre-vote':
        onPreVote(core, from, message);
        return;
      case 'pre-vote-response':
        onPreVoteResponse(core, from, message);
        return;
      case 'vote':
        onVote(core, from, message);
        return;
      case 'vote-response':
        onVoteResponse(core, from, message);
        return;
      case 'append':
        onAppend(core, from, message);
        return;
      case 'append-response':
        onAppendResponse(core, from, message);
        return;
      case 'heartbeat':
        onHeartbeat(core, from, message);
        return;
      case 'heartbeat-response':
        onHeartbeatResponse(core, from, message);
        return;
      case 'commit':
        onCommit(core, from, message);
        return;
      case 'timeout-now':
        onTimeoutNow(core, from, message);
        return;
    }
  }

  #onDeadline(): void {
    const core = this.#core;
    const { role } = core;
    if (role.type !== 'leader') {
      if (role.timer.elapsedMs < role.timer.timeoutMs) return;
      if (!core.mayStand) {
        forgetLeader(core);
        return;
      }
      // On a slow disk one more term would only make it wait for one more write.
      if (role.type === 'candidate' && !core.writes.hardStatePersisted) resetElectionTimer(core);
      else if (!mayVote(core)) becomeFollower(core, core.term, NO_SERVER);
      else startPreVote(core);
      return;
    }
    if (role.heartbeatElapsedMs >= core.config.heartbeatMs) broadcastHeartbeat(core, role);
  }

  #continueChanges(leader: Leader): void {
    const core = this.#core;
    if (leader.recount) {
      leader.recount = false;
      advanceLeaderCommit(core, leader);
      confirmReads(core, leader);
    }
    continueMembership(core, leader);
  }

  #send(leader: Leader): void {
    const core = this.#core;
    replicate(core, leader);
    startReadRound(core, leader);
    continueTransfer(core, leader);
  }

  /**
   * In every step: rounds of reads take the place of heartbeats, so that a leader with many of them may go without deadlines. Behind
   * the events, since the answers that prove a quorum may be among them.
   */
  #judgeLeadership(leader: Leader): void {
    const core = this.#core;
    if (!hearsQuorum(core, leader)) {
      becomeFollower(core, core.term, NO_SERVER);
      core.quorumLost = true;
    } else if (diskStalls(core)) stepDownForStall(core, leader);
  }
}

function isAnswer(message: Message): boolean {
  switch (message.type) {
    case 'pre-vote-response':
    case 'vote-response':
    case 'append-response':
    case 'heartbeat-response':
      return true;
    case 'pre-vote':
    case 'vote':
    case 'append':
    case 'heartbeat':
    case 'commit':
    case 'timeout-now':
      return false;
  }
}
