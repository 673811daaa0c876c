/**
 * An operator's wish that another server lead. The leader starts the hand-over and answers once the new leader is known; any other
 * server passes the wish on to the leader and the answer back. Every wish is answered within {@link TRANSFER_ANSWER_MS}.
 */

import type { AdminAnswer } from '@holdfast/protocol';
import { serverId, type ReplicaHandle, type ReplicaStatus, type ServerId, type TransferResult } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import { MAX_UNANSWERED_TRANSFERS, TRANSFER_ANSWER_MS } from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';

export interface LeadershipTransferDeps {
  readonly serverId: ServerId;
  readonly clock: Clock;
  readonly correlations: CorrelationIds;
  readonly peers: PeerOutbox;
  handle(): ReplicaHandle;
  /** The peer can be told of transfers. */
  understands(peer: ServerId): boolean;
}

type Answer = (answer: AdminAnswer) => void;

interface Wish {
  readonly answer: Answer;
  readonly timer: Timer;
  /** The target was told to stand; who leads next decides. */
  expects: ServerId | undefined;
}

export class LeadershipTransfer implements ServerPart {
  readonly memberMessages: PeerHandlers = {
    transfer: (from, { wish, server }) => this.#wishedByPeer(from, wish, server),
  };
  readonly peerMessages: PeerHandlers = { 'transfer-answer': (_from, { wish, answer }) => this.#settle(wish, answer) };
  readonly #deps: LeadershipTransferDeps;
  readonly #wishes = new Map<number, Wish>();

  constructor(deps: LeadershipTransferDeps) {
    this.#deps = deps;
  }

  /** `server` 0: the best follower. */
  wished(server: number, answer: Answer): void {
    const { leader } = this.#deps.handle().status;
    if (leader === 0) {
      answer({ type: 'error', code: 'NO_LEADER', message: 'no leader is known, so that nobody can hand over' });
      return;
    }
    const id = this.#add(answer);
    if (id === undefined) return;
    if (leader === this.#deps.serverId) this.#start(id, server);
    else if (this.#deps.understands(leader)) this.#deps.peers.send(leader, { type: 'transfer', wish: id, server });
    else this.#refuse(id, `the leader, server ${leader}, is of an older version that cannot hand over on request`);
  }

  /** A follower passes a wish on. */
  #wishedByPeer(from: ServerId, wish: number, server: number): void {
    const id = this.#add((answer) => this.#deps.peers.send(from, { type: 'transfer-answer', wish, answer }));
    if (id === undefined) return;
    if (this.#deps.handle().status.role === 'leader') this.#start(id, server);
    else this.#refuse(id, 'the leader has just changed; look who leads and ask again');
  }

  statusChanged({ leader, role }: ReplicaStatus): void {
    if (leader === 0 || role === 'leader') return;
    for (const [id, { expects }] of this.#wishes) {
      if (expects === undefined) continue;
      if (leader === expects) this.#settle(id, { type: 'transferred', server: leader });
      else this.#refuse(id, `server ${leader} was elected instead of server ${expects}`);
    }
  }

  stop(): void {
    for (const id of this.#wishes.keys()) this.#refuse(id, 'this server is stopping; ask another');
  }

  #start(id: number, server: number): void {
    this.#deps.handle().transferLeadership(server === 0 ? undefined : serverId(server), (result) => {
      this.#ended(id, result);
    });
  }

  #ended(id: number, { outcome, target }: TransferResult): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    switch (outcome) {
      case 'transferred':
        wish.expects = target;
        return;
      case 'already-leader':
        this.#settle(id, { type: 'transferred', server: target });
        return;
      case 'unknown-target':
        this.#settle(id, { type: 'error', code: 'NOT_FOUND', message: `server ${target} is no voting member` });
        return;
      case 'lost-leadership':
      case 'not-leader':
        this.#refuse(id, 'the leader has just changed; look who leads and ask again');
        return;
      case 'timed-out':
        this.#refuse(id, `server ${target} did not take over in time; the leader goes on`);
        return;
      case 'target-unreachable':
        this.#refuse(id, `server ${target} cannot be reached by the leader`);
        return;
      case 'target-behind':
        this.#refuse(id, `server ${target} is far behind the leader; wait until it has caught up`);
        return;
      case 'no-target':
        this.#refuse(id, 'no other server is connected and up to date');
        return;
      case 'in-progress':
        this.#refuse(id, 'a hand-over to another server is under way');
        return;
    }
  }

  #add(answer: Answer): number | undefined {
    if (this.#wishes.size >= MAX_UNANSWERED_TRANSFERS) {
      answer({
        type: 'error',
        code: 'OVERLOADED',
        message: 'too many transfers are asked for; wait for their answers',
      });
      return undefined;
    }
    const id = this.#deps.correlations.next();
    const timer = this.#deps.clock.setTimer(TRANSFER_ANSWER_MS, () => {
      const message = 'the hand-over was not answered in time; look who leads';
      this.#settle(id, { type: 'error', code: 'LEADER_CHANGED', message });
    });
    this.#wishes.set(id, { answer, timer, expects: undefined });
    return id;
  }

  #refuse(id: number, message: string): void {
    this.#settle(id, { type: 'error', code: 'TRANSFER_REFUSED', message });
  }

  #settle(id: number, answer: AdminAnswer): void {
    const wish = this.#wishes.get(id);
    if (wish === undefined) return;
    this.#wishes.delete(id);
    wish.timer.cancel();
    wish.answer(answer);
  }
}
