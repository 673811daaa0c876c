/**
 * What operators want to know of the members, and to change about them. The leader does it; any other server passes the wish on to the
 * leader and the answer back, and asks the next leader when one falls: asking again for what has come to be is answered like the first
 * time. Every wish is answered within {@link MEMBERS_ANSWER_MS}.
 */

import type { AdminAnswer, AdminOperation, ErrorCode, MemberChange } from '@holdfast/protocol';
import {
  serverId,
  type MembershipChange,
  type MembershipOutcome,
  type MembershipRefusal,
  type PeerInfo,
  type ReplicaHandle,
  type ReplicaStatus,
  type ServerId,
} from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import { addressProblem } from '../settings/address.ts';
import { MAX_SERVER_ID } from '../settings/cluster-names.ts';
import { MAX_UNANSWERED_MEMBER_WISHES, MEMBERS_ANSWER_MS, MEMBERS_RETRY_MS, MEMBER_CHANGE_WAIT_MS } from '../limits.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';

export interface MembershipWishesDeps {
  readonly serverId: ServerId;
  readonly clock: Clock;
  readonly correlations: CorrelationIds;
  readonly peers: PeerOutbox;
  handle(): ReplicaHandle;
  /** The peer can be told of such wishes. */
  understands(peer: ServerId): boolean;
}

export type MembersOperation = Extract<AdminOperation, { type: 'members' | 'change-members' }>;
type Answer = (answer: AdminAnswer) => void;

interface Wish {
  readonly operation: MembersOperation;
  readonly answer: Answer;
  /** Passed on by another server, which asks the next leader itself. */
  readonly passedOn: boolean;
  readonly sinceMs: number;
  readonly timer: Timer;
  /** In which term somebody was asked; 0 while nobody is. */
  askedIn: number;
  /** Why the leader could not do it yet. */
  hindrance: MembershipRefusal | undefined;
}

export class MembershipWishes {
  readonly #deps: MembershipWishesDeps;
  readonly #wishes = new Map<number, Wish>();
  #retry: Timer | undefined;

  constructor(deps: MembershipWishesDeps) {
    this.#deps = deps;
  }

  wished(operation: MembersOperation, answer: Answer): void {
    this.#add(operation, answer, false);
  }

  /** A follower passes a wish on. */
  wishedByPeer(from: ServerId, wish: number, operation: MembersOperation): void {
    const answer = (answer: AdminAnswer): void => this.#deps.peers.send(from, { type: 'admin-answer', wish, answer });
    this.#add(operation, answer, true);
  }

  answeredByPeer(id: number, answer: AdminAnswer): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    if (answer.type === 'error' && answer.code === 'NO_LEADER') this.#again(wish);
    else this.#settle(id, answer);
  }

  /** What was said to `peer`, or what it answered, may be lost. */
  connectionLost(peer: ServerId): void {
    if (peer !== this.#deps.handle().status.leader) return;
    for (const wish of this.#wishes.values()) wish.askedIn = 0;
    this.#retryLater();
  }

  statusChanged({ leader, term }: ReplicaStatus): void {
    for (const [id, wish] of this.#wishes) {
      if (leader === 0 || wish.askedIn === term) continue;
      wish.askedIn = 0;
      this.#ask(id, wish);
    }
  }

  stop(): void {
    this.#retry?.cancel();
    for (const id of this.#wishes.keys()) this.#refuse(id, 'SHUTTING_DOWN', 'this server is stopping; ask another');
  }

  #add(operation: MembersOperation, answer: Answer, passedOn: boolean): void {
    const problem = operation.type === 'change-members' ? problemOf(operation.change) : undefined;
    if (problem !== undefined) {
      answer({ type: 'error', code: 'INVALID_ARGUMENT', message: problem });
      return;
    }
    if (this.#wishes.size >= MAX_UNANSWERED_MEMBER_WISHES) {
      const message = 'too many changes of the members are asked for; wait for their answers';
      answer({ type: 'error', code: 'OVERLOADED', message });
      return;
    }
    const { clock, correlations } = this.#deps;
    const id = correlations.next();
    const timer = clock.setTimer(MEMBERS_ANSWER_MS, () => this.#expire(id));
    const sinceMs = clock.monotonicMs();
    const wish: Wish = { operation, answer, passedOn, sinceMs, timer, askedIn: 0, hindrance: undefined };
    this.#wishes.set(id, wish);
    this.#ask(id, wish);
  }

  #ask(id: number, wish: Wish): void {
    const { leader, term } = this.#deps.handle().status;
    if (leader === this.#deps.serverId) {
      wish.askedIn = term;
      this.#lead(id, wish);
    } else if (wish.passedOn) {
      // Who passed it on asks the next leader.
      this.#refuse(id, 'NO_LEADER', 'the leader has just changed; ask again');
    } else if (leader === 0) {
      this.#retryLater();
    } else if (this.#deps.understands(leader)) {
      wish.askedIn = term;
      this.#deps.peers.send(leader, { type: 'admin', wish: id, operation: wish.operation });
    } else if (this.#deps.clock.monotonicMs() - wish.sinceMs < MEMBER_CHANGE_WAIT_MS) {
      // Its hello to a server that has just joined may be on the way still.
      this.#retryLater();
    } else {
      this.#refuse(id, 'UNSUPPORTED', `the leader, server ${leader}, is of an older version that cannot do that`);
    }
  }

  #lead(id: number, { operation }: Wish): void {
    if (operation.type === 'members') this.#settle(id, this.#members());
    else
      this.#deps
        .handle()
        .changeMembership(changeOf(operation.change), (outcome) => this.#ended(id, operation.change, outcome));
  }

  #ended(id: number, change: MemberChange, outcome: MembershipOutcome | 'stopped'): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    if (outcome === 'stopped' || outcome.type === 'unknown') {
      this.#again(wish);
      return;
    }
    if (outcome.type === 'changed') {
      this.#settle(id, this.#members());
      return;
    }
    const { reason } = outcome;
    if (this.#hasComeToBe(change, reason)) {
      this.#settle(id, this.#members());
    } else if (isPassing(reason)) {
      wish.hindrance = reason;
      const waitedMs = this.#deps.clock.monotonicMs() - wish.sinceMs;
      if (waitedMs < MEMBER_CHANGE_WAIT_MS) this.#again(wish);
      else this.#refuse(id, codeOf(reason), messageOf(reason, change.server));
    } else {
      this.#refuse(id, codeOf(reason), messageOf(reason, change.server));
    }
  }

  /** By an earlier wish, whose answer may have been lost. */
  #hasComeToBe(change: MemberChange, reason: MembershipRefusal): boolean {
    if (reason === 'already-a-voter' || reason === 'already-removed') return true;
    if (reason !== 'id-used' || change.type !== 'add') return false;
    const member = this.#deps.handle().peers.find(({ id }) => id === change.server);
    if (member?.peerAddress !== change.peerAddress) return false;
    return change.observer ? member.role === 'observer' : member.role === 'learner' || member.role === 'voter';
  }

  #members(): AdminAnswer {
    const { peers, status } = this.#deps.handle();
    return { type: 'members', leader: status.leader, members: peers.map(memberSummary) };
  }

  #again(wish: Wish): void {
    wish.askedIn = 0;
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#retry !== undefined || this.#wishes.size === 0) return;
    this.#retry = this.#deps.clock.setTimer(MEMBERS_RETRY_MS, () => {
      this.#retry = undefined;
      for (const [id, wish] of this.#wishes) if (wish.askedIn === 0) this.#ask(id, wish);
    });
  }

  #expire(id: number): void {
    const hindrance = this.#wishes.get(id)?.hindrance;
    if (hindrance !== undefined) this.#refuse(id, codeOf(hindrance), messageOf(hindrance, 0));
    else this.#refuse(id, 'LEADER_CHANGED', 'the leader did not answer in time; look at the members and ask again');
  }

  #refuse(id: number, code: ErrorCode, message: string): void {
    this.#settle(id, { type: 'error', code, message });
  }

  #settle(id: number, answer: AdminAnswer): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    this.#wishes.delete(id);
    wish.timer.cancel();
    wish.answer(answer);
  }
}

function problemOf(change: MemberChange): string | undefined {
  const { server } = change;
  if (server < 1 || server > MAX_SERVER_ID)
    return `the number of a server is from 1 to ${MAX_SERVER_ID}, not ${server}`;
  if (change.type === 'add' && change.joinSecret === '') {
    return (
      `server ${server} is added with its join secret: start it with --join, and run the command that it prints ` +
      `(lockctl member add ${server} HOST:PORT --join-secret SECRET)`
    );
  }
  const problem = change.type === 'add' ? addressProblem(change.peerAddress, 'dial') : undefined;
  return change.type === 'add' && problem !== undefined
    ? `the peer address "${change.peerAddress}" ${problem}`
    : undefined;
}

function changeOf(change: MemberChange): MembershipChange {
  const id = serverId(change.server);
  return change.type === 'add'
    ? {
        type: 'add',
        id,
        peerAddress: change.peerAddress,
        observer: change.observer,
        joinSecret: change.joinSecret,
      }
    : { type: change.type, id };
}

function memberSummary({ id, role, peerAddress, clientAddress, connected }: PeerInfo) {
  return { server: id, role, peerAddress, clientAddress, connected };
}

/** Time alone may remove it; a member that was just added has not said yet what it can do. */
function isPassing(reason: MembershipRefusal): boolean {
  return ['not-leader', 'not-ready', 'change-under-way', 'transferring', 'unsupported'].includes(reason);
}

function codeOf(reason: MembershipRefusal): ErrorCode {
  switch (reason) {
    case 'not-leader':
    case 'not-ready':
    case 'change-under-way':
    case 'transferring':
    case 'quorum-at-risk':
    case 'not-caught-up':
      return 'MEMBERSHIP_REFUSED';
    case 'id-used':
    case 'address-used':
      return 'MEMBER_EXISTS';
    case 'not-a-member':
    case 'already-removed':
      return 'NOT_FOUND';
    case 'already-a-voter':
    case 'last-voter':
      return 'INVALID_ARGUMENT';
    case 'too-many-members':
    case 'too-many-retired-ids':
      return 'LIMIT_EXCEEDED';
    case 'unsupported':
      return 'UNSUPPORTED';
  }
}

function messageOf(reason: MembershipRefusal, server: number): string {
  switch (reason) {
    case 'not-leader':
    case 'not-ready':
      return 'the leader has just changed; ask again';
    case 'change-under-way':
      return 'another change of the members is not finished; wait for it';
    case 'transferring':
      return 'leadership is being handed over; ask again';
    case 'quorum-at-risk':
      return `without server ${server} too few of the voters could be reached to decide anything; start or remove the others first`;
    case 'not-caught-up':
      return `server ${server} lags too far behind to vote; see that it runs and can be reached, and ask again when it has caught up`;
    case 'id-used':
      return `the number ${server} is another member's, or was a removed server's; numbers are used once, so choose another`;
    case 'address-used':
      return 'another member has that peer address; choose another, or remove that member first';
    case 'not-a-member':
      return `server ${server} is no member`;
    case 'already-removed':
      return `server ${server} was removed`;
    case 'already-a-voter':
      return `server ${server} votes already`;
    case 'last-voter':
      return `server ${server} is the only one that votes; add another first`;
    case 'too-many-members':
      return 'the cluster has as many members as it can have; remove one first';
    case 'too-many-retired-ids':
      return 'the cluster remembers as many removed servers as it can; no more can be removed';
    case 'unsupported':
      return 'a member is of an older version that cannot read such changes, or was not heard yet; upgrade it, or wait until it is connected';
  }
}
