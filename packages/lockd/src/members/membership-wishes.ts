/**
 * What operators want to know of the members, and to change about them. What a server knows of them itself it tells at once. The rest the
 * leader does; any other server passes the wish on to the leader and the answer back, and asks the next leader when one falls: asking
 * again for what has come to be is answered like the first time. Once it is not known how an attempt ended, no later refusal is told as
 * one: what was asked for may still come about. Every wish is answered within {@link MEMBERS_ANSWER_MS}.
 */

import {
  MalformedError,
  type AdminAnswer,
  type AdminOperation,
  type ErrorCode,
  type MemberChange,
} from '@holdfast/protocol';
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
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';
import { codeOf, isPassing, messageOf } from './membership-refusals.ts';

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

/** Somebody was asked, and has not said how it ended. */
interface Attempt {
  /** The leader of `term`, which may be this server. */
  readonly server: ServerId;
  readonly term: number;
}

interface Wish {
  readonly operation: MembersOperation;
  readonly answer: Answer;
  /** Passed on by another server, which asks the next leader itself. */
  readonly passedOn: boolean;
  readonly sinceMs: number;
  readonly timer: Timer;
  attempt: Attempt | undefined;
  /** How an earlier attempt ended is not known, and will not be: its change may be in a log. */
  uncertain: boolean;
}

interface EndedAttempt {
  readonly id: number;
  readonly attempt: Attempt;
  readonly change: MemberChange;
  readonly outcome: MembershipOutcome | 'stopped';
}

export class MembershipWishes implements ServerPart {
  readonly memberMessages: PeerHandlers = {
    admin: (from, { wish, operation }) => this.#wishedByPeer(from, wish, operation),
  };
  readonly peerMessages: PeerHandlers = {
    'admin-answer': (from, { wish, answer }) => this.#answeredByPeer(from, wish, answer),
  };
  readonly #deps: MembershipWishesDeps;
  readonly #wishes = new Map<number, Wish>();
  #retry: Timer | undefined;

  constructor(deps: MembershipWishesDeps) {
    this.#deps = deps;
  }

  wished(operation: MembersOperation, answer: Answer): void {
    if (operation.type === 'members' && operation.local) answer(this.#members());
    else this.#add(operation, answer, false);
  }

  /** A follower passes a wish on. */
  #wishedByPeer(from: ServerId, wish: number, operation: AdminOperation): void {
    if (operation.type === 'transfer') throw new MalformedError('a wish for another leader has its own message');
    const answer = (answer: AdminAnswer): void => this.#deps.peers.send(from, { type: 'admin-answer', wish, answer });
    this.#add(operation, answer, true);
  }

  #answeredByPeer(from: ServerId, id: number, answer: AdminAnswer): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    if (answer.type !== 'error') {
      this.#settle(id, answer);
      return;
    }
    // Late: whoever was asked since may do what that one did not.
    if (wish.attempt?.server !== from) return;
    const { code, message } = answer;
    if (code === 'LEADER_CHANGED') giveUp(wish);
    else wish.attempt = undefined;
    if (['LEADER_CHANGED', 'NO_LEADER', 'SHUTTING_DOWN'].includes(code)) this.#retryLater();
    else this.#refuse(id, code, message);
  }

  /** What was said to `peer`, or what it answered, may be lost. */
  connectionLost(peer: ServerId): void {
    for (const wish of this.#wishes.values()) {
      if (wish.attempt?.server !== peer) continue;
      giveUp(wish);
      this.#retryLater();
    }
  }

  statusChanged({ leader, term }: ReplicaStatus): void {
    for (const [id, wish] of this.#wishes) {
      if (leader === 0 || wish.attempt?.term === term) continue;
      giveUp(wish);
      this.#ask(id, wish);
    }
  }

  stop(): void {
    this.#retry?.cancel();
    for (const [id, wish] of this.#wishes) {
      giveUp(wish);
      this.#refuse(id, 'SHUTTING_DOWN', 'this server is stopping; ask another');
    }
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
    const wish: Wish = { operation, answer, passedOn, sinceMs, timer, attempt: undefined, uncertain: false };
    this.#wishes.set(id, wish);
    this.#ask(id, wish);
  }

  #ask(id: number, wish: Wish): void {
    const { leader, term } = this.#deps.handle().status;
    if (leader === this.#deps.serverId) {
      this.#lead(id, wish, { server: leader, term });
    } else if (wish.passedOn) {
      // Who passed it on asks the next leader.
      this.#refuse(id, 'NO_LEADER', 'the leader has just changed; ask again');
    } else if (leader === 0) {
      this.#retryLater();
    } else if (this.#deps.understands(leader)) {
      wish.attempt = { server: leader, term };
      this.#deps.peers.send(leader, { type: 'admin', wish: id, operation: wish.operation });
    } else if (this.#deps.clock.monotonicMs() - wish.sinceMs < MEMBER_CHANGE_WAIT_MS) {
      // Its hello to a server that has just joined may be on the way still.
      this.#retryLater();
    } else {
      this.#refuse(id, 'UNSUPPORTED', `the leader, server ${leader}, is of an older version that cannot do that`);
    }
  }

  #lead(id: number, wish: Wish, attempt: Attempt): void {
    const { operation } = wish;
    if (operation.type === 'members') {
      this.#settle(id, this.#members());
      return;
    }
    const { change } = operation;
    wish.attempt = attempt;
    this.#deps.handle().changeMembership(changeOf(change), (outcome) => this.#ended({ id, attempt, change, outcome }));
  }

  #ended({ id, attempt, change, outcome }: EndedAttempt): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    if (outcome !== 'stopped' && outcome.type === 'changed') {
      this.#settle(id, this.#members());
      return;
    }
    // Given up before it ended: another leader was asked.
    if (wish.attempt !== attempt) return;
    if (outcome === 'stopped' || outcome.type === 'unknown') {
      giveUp(wish);
      this.#retryLater();
      return;
    }
    wish.attempt = undefined;
    const { reason } = outcome;
    if (this.#hasComeToBe(change, reason)) {
      this.#settle(id, this.#members());
    } else if (isPassing(reason) && this.#deps.clock.monotonicMs() - wish.sinceMs < MEMBER_CHANGE_WAIT_MS) {
      this.#retryLater();
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
    const { leader, appliedIndex } = status;
    return { type: 'members', leader, members: peers.map(memberSummary), index: appliedIndex };
  }

  #retryLater(): void {
    if (this.#retry !== undefined || this.#wishes.size === 0) return;
    this.#retry = this.#deps.clock.setTimer(MEMBERS_RETRY_MS, () => {
      this.#retry = undefined;
      for (const [id, wish] of this.#wishes) if (wish.attempt === undefined) this.#ask(id, wish);
    });
  }

  #expire(id: number): void {
    this.#refuse(id, 'LEADER_CHANGED', 'the leader did not answer in time; look at the members and ask again');
  }

  /** Says nothing of an earlier attempt that may still come about but that: whoever is refused takes it for undone. */
  #refuse(id: number, code: ErrorCode, message: string): void {
    const uncertain = this.#wishes.get(id)?.uncertain === true && code !== 'LEADER_CHANGED';
    const text = 'the leader changed, and what was asked for may still happen; look at the members and ask again';
    if (uncertain)
      this.#settle(id, { type: 'error', code: 'LEADER_CHANGED', message: `${text} (refused now: ${message})` });
    else this.#settle(id, { type: 'error', code, message });
  }

  #settle(id: number, answer: AdminAnswer): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    this.#wishes.delete(id);
    wish.timer.cancel();
    wish.answer(answer);
  }
}

/** Nobody will say how the attempt under way ended. */
function giveUp(wish: Wish): void {
  if (wish.attempt !== undefined && wish.operation.type === 'change-members') wish.uncertain = true;
  wish.attempt = undefined;
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
