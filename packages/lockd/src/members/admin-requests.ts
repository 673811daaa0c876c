/**
 * The road that operators' requests take to the leader and their answers back, whatever they ask for. A server that does not lead forwards
 * a request to the leader, and asks the next leader when one falls, if the kind of request can be asked for again. Once it is not known
 * how an attempt ended, no later refusal is passed on as one: what was asked for may still come about. Every request is answered in time.
 */

import type { AdminAnswer, AdminOperation } from '@holdfast/protocol';
import type { ReplicaHandle, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import { ADMIN_RETRY_MS, ADMIN_WAIT_MS, MAX_UNANSWERED_ADMIN_REQUESTS } from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';
import type { AdminKind, AdminKinds, AttemptOutcome } from './admin-kind.ts';
import { ROAD, mayStillHappen, olderLeader, type Refusal } from './admin-refusals.ts';

export interface AdminRequestsDeps {
  readonly serverId: ServerId;
  readonly clock: Clock;
  readonly correlations: CorrelationIds;
  readonly peers: PeerOutbox;
  handle(): ReplicaHandle;
  /** The peer can be forwarded such requests. */
  understands(peer: ServerId): boolean;
}

type Answer = (answer: AdminAnswer) => void;

/** Somebody was asked, and has not said how it ended. */
interface Attempt {
  /** The leader of the term, which may be this server. */
  readonly leader: ServerId;
  readonly sentInTerm: number;
  /** Undefined until whoever leads next decides. */
  elected: ((leader: ServerId) => AttemptOutcome) | undefined;
}

interface AdminRequest {
  readonly operation: AdminOperation;
  readonly kind: AdminKind<AdminOperation>;
  readonly answer: Answer;
  /** Another server has forwarded it, which asks the next leader itself. */
  readonly forwarded: boolean;
  readonly sinceMs: number;
  readonly timer: Timer;
  attempt: Attempt | undefined;
  /** How an earlier attempt ended is not known, and will not be: its change may be in a log. */
  uncertain: boolean;
}

export class AdminRequests implements ServerPart {
  readonly memberMessages: PeerHandlers = {
    admin: (from, { request, operation }) => {
      const answer = (answer: AdminAnswer): void =>
        this.#deps.peers.send(from, { type: 'admin-answer', request, answer });
      this.#add(operation, answer, true);
    },
  };
  readonly peerMessages: PeerHandlers = {
    'admin-answer': (from, { request, answer }) => this.#answeredByPeer(from, request, answer),
  };
  readonly #deps: AdminRequestsDeps;
  readonly #kinds: AdminKinds;
  readonly #requests = new Map<number, AdminRequest>();
  #retry: Timer | undefined;

  constructor(kinds: AdminKinds, deps: AdminRequestsDeps) {
    this.#kinds = kinds;
    this.#deps = deps;
  }

  /** A client of this server asks. */
  ask(operation: AdminOperation, answer: Answer): void {
    const known = this.#kindOf(operation).answerHere?.(operation);
    if (known === undefined) this.#add(operation, answer, false);
    else answer(known);
  }

  /** What was said to `peer`, or what it answered, may be lost. */
  connectionLost(peer: ServerId): void {
    for (const request of this.#requests.values()) {
      if (!request.kind.repeatable || request.attempt?.leader !== peer) continue;
      giveUp(request);
      this.#retryLater();
    }
  }

  statusChanged({ leader, role, term }: ReplicaStatus): void {
    if (leader === 0) return;
    for (const [id, request] of this.#requests) {
      const { kind, attempt } = request;
      if (attempt?.elected !== undefined && role !== 'leader') this.#ended(id, attempt, attempt.elected(leader));
      const isDue = kind.repeatable ? attempt?.sentInTerm !== term : attempt === undefined;
      if (!isDue) continue;
      giveUp(request);
      this.#ask(id, request);
    }
  }

  stop(): void {
    this.#retry?.cancel();
    for (const [id, request] of this.#requests) {
      giveUp(request);
      this.#refuse(id, ROAD.stopping);
    }
  }

  #add(operation: AdminOperation, answer: Answer, forwarded: boolean): void {
    const kind = this.#kindOf(operation);
    const problem = kind.problem?.(operation);
    if (problem !== undefined) {
      answer({ type: 'error', code: 'INVALID_ARGUMENT', message: problem });
      return;
    }
    if (this.#requests.size >= MAX_UNANSWERED_ADMIN_REQUESTS) {
      answer({ type: 'error', ...ROAD.tooMany });
      return;
    }
    const { clock, correlations } = this.#deps;
    const id = correlations.next();
    const timer = clock.setTimer(kind.answerMs, () => this.#refuse(id, ROAD.timedOut));
    const sinceMs = clock.monotonicMs();
    const state = { attempt: undefined, uncertain: false };
    const request: AdminRequest = { operation, kind, answer, forwarded, sinceMs, timer, ...state };
    this.#requests.set(id, request);
    this.#ask(id, request);
  }

  #ask(id: number, request: AdminRequest): void {
    const { kind, operation } = request;
    const { leader, term } = this.#deps.handle().status;
    if (leader === this.#deps.serverId) {
      const attempt = { leader, sentInTerm: term, elected: undefined };
      request.attempt = attempt;
      kind.attempt(operation, (outcome) => this.#ended(id, attempt, outcome));
    } else if (request.forwarded) {
      this.#refuse(id, kind.notLeader);
    } else if (leader === 0) {
      // Soon after a change of leader this server may be the last to hear of it.
      if (kind.repeatable || this.#mayWait(request)) this.#retryLater();
      else this.#refuse(id, ROAD.noLeader);
    } else if (this.#deps.understands(leader)) {
      request.attempt = { leader, sentInTerm: term, elected: undefined };
      this.#deps.peers.send(leader, { type: 'admin', request: id, operation });
    } else if (this.#mayWait(request)) {
      // Its hello to a server that has just joined may be on the way still.
      this.#retryLater();
    } else {
      this.#refuse(id, olderLeader(leader));
    }
  }

  #ended(id: number, attempt: Attempt, outcome: AttemptOutcome): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    if (outcome.type === 'answered') {
      this.#answer(id, outcome.answer);
      return;
    }
    // Given up before it ended: another leader was asked.
    if (request.attempt !== attempt) return;
    switch (outcome.type) {
      case 'undecided':
        attempt.elected = outcome.elected;
        return;
      case 'unknown':
        giveUp(request);
        this.#retryLater();
        return;
      case 'blocked':
        request.attempt = undefined;
        if (this.#mayWait(request)) this.#retryLater();
        else this.#refuse(id, outcome.blockedBy);
        return;
      case 'refused':
        request.attempt = undefined;
        this.#refuse(id, outcome.refusal);
    }
  }

  #answeredByPeer(from: ServerId, id: number, answer: AdminAnswer): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    if (answer.type !== 'error' || !request.kind.repeatable) {
      this.#answer(id, answer);
      return;
    }
    // Late: whoever was asked since may do what that one did not.
    if (request.attempt?.leader !== from) return;
    const { code } = answer;
    if (code === 'LEADER_CHANGED') giveUp(request);
    else request.attempt = undefined;
    if (['LEADER_CHANGED', 'NO_LEADER', 'SHUTTING_DOWN'].includes(code)) this.#retryLater();
    else this.#refuse(id, answer);
  }

  #kindOf(operation: AdminOperation): AdminKind<AdminOperation> {
    return this.#kinds[operation.type] as AdminKind<AdminOperation>;
  }

  #mayWait({ sinceMs }: AdminRequest): boolean {
    return this.#deps.clock.monotonicMs() - sinceMs < ADMIN_WAIT_MS;
  }

  #retryLater(): void {
    if (this.#retry !== undefined || this.#requests.size === 0) return;
    this.#retry = this.#deps.clock.setTimer(ADMIN_RETRY_MS, () => {
      this.#retry = undefined;
      for (const [id, request] of this.#requests) if (request.attempt === undefined) this.#ask(id, request);
    });
  }

  /** Says nothing of an earlier attempt that may still come about but that. */
  #refuse(id: number, refusal: Refusal): void {
    const isUncertain = this.#requests.get(id)?.uncertain === true && refusal.code !== 'LEADER_CHANGED';
    const { code, message } = isUncertain ? mayStillHappen(refusal) : refusal;
    this.#answer(id, { type: 'error', code, message });
  }

  #answer(id: number, answer: AdminAnswer): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    request.timer.cancel();
    request.answer(answer);
  }
}

/** Nobody will say how the attempt under way ended. */
function giveUp(request: AdminRequest): void {
  if (request.attempt !== undefined && request.kind.changesSomething) request.uncertain = true;
  request.attempt = undefined;
}
