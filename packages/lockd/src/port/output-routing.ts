/**
 * Brings what applying an entry reports to the servers to the clients of this server, in the order in which the state machine
 * reports it: events of an index before the reply that shows its state, and the end of a session last.
 */

import type { ErrorCode, EndReason } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import type { Output } from '@holdfast/state';
import type { HoldNews } from '../locks/hold-news.ts';
import type { LockDelays } from '../locks/lock-delays.ts';
import type { AddressSessions } from '../sessions/address-sessions.ts';
import type { Attaches } from '../sessions/attaches.ts';
import type { SessionOutput } from './client-channel.ts';
import type { SessionClient } from './session-client.ts';
import type { SessionClients } from './session-clients.ts';
import type { ServerCounters } from '../counters.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { CommitBatcher } from '../requests/batching/commit-batcher.ts';
import type { ReturningCrowd } from '../sessions/returning-crowd.ts';
import type { SessionLeases } from '../sessions/session-leases.ts';

export interface OutputRoutingDeps {
  readonly serverId: number;
  readonly counters: ServerCounters;
  readonly clients: SessionClients;
  readonly batcher: CommitBatcher;
  readonly attaches: Attaches;
  readonly addresses: AddressSessions;
  readonly leases: SessionLeases;
  readonly crowd: Pick<ReturningCrowd, 'attached'>;
  readonly delays: Pick<LockDelays, 'begun' | 'ended'>;
  readonly holdNews: Pick<HoldNews, 'floorRaised' | 'contended'>;
  /** There is one more, or one less. */
  sessionsChanged(): void;
}

export class OutputRouting implements ServerPart {
  readonly #deps: OutputRoutingDeps;

  constructor(deps: OutputRoutingDeps) {
    this.#deps = deps;
  }

  applied({ index }: Entry, outputs: readonly Output[]): void {
    for (const output of outputs) this.#deliver(index, output);
  }

  #deliver(index: number, output: Output): void {
    switch (output.type) {
      case 'reply':
        this.#reply(index, output);
        return;
      case 'refused':
        this.#refused(index, output);
        return;
      case 'attached':
        this.#attached(index, output);
        return;
      case 'granted': {
        const { lock, acquireIndex, token, floor } = output;
        const granted = { type: 'granted', index, lock, acquireIndex, token } as const;
        this.#toSession(output.session, floor === undefined ? granted : { ...granted, floor });
        return;
      }
      case 'floorRaised':
        this.#deps.holdNews.floorRaised(output.lock);
        return;
      case 'contended':
        this.#deps.holdNews.contended(output.lock);
        return;
      case 'lockDelayed':
        this.#deps.delays.begun(output);
        return;
      case 'lockDelayEnded':
        this.#deps.delays.ended(output);
        return;
      case 'lost': {
        const { session, ...lost } = output;
        this.#toSession(session, { ...lost, index });
        return;
      }
      case 'releaseRequested': {
        const { lock, acquireIndex, request } = output;
        const { withinMs, revokes, by } = request;
        this.#toSession(output.session, {
          type: 'release-requested',
          index,
          lock,
          acquireIndex,
          withinMs,
          revokes,
          by,
        });
        return;
      }
      case 'releaseEnforced':
        return;
      case 'deadlocksSought':
        this.#deps.counters.deadlockedWaitsEnded += output.ended;
        if (output.gaveUp) this.#deps.counters.deadlockSearchesCut += 1;
        return;
      case 'sessionCreated':
        this.#deps.leases.arm(output.session, output.timeoutMs);
        this.#deps.sessionsChanged();
        return;
      case 'sessionSurvived':
        this.#deps.leases.survived(output.session);
        return;
      case 'endContinued':
        return;
      case 'unusedRemoved':
        this.#deps.counters.unusedNodesRemoved += output.nodes;
        return;
      case 'sessionEnding':
        // Nothing can renew it.
        this.#deps.leases.remove(output.session);
        return;
      case 'sessionEnded':
        if (output.reason === 'expired') this.#deps.counters.sessionsExpired += 1;
        this.#deps.leases.remove(output.session);
        this.#deps.addresses.gone(output.session);
        this.#ended(index, output.session, output.reason);
        this.#deps.sessionsChanged();
        return;
    }
  }

  #reply(index: number, output: Extract<Output, { type: 'reply' }>): void {
    const client = this.#deps.clients.bySession(output.session);
    if (client === undefined || output.generation < client.firstGeneration) return;
    if (output.generation > client.generation) return;
    this.#deps.counters.requestsReplied += 1;
    client.window.answered(output.number);
    if (client.window.isEmpty) this.#deps.batcher.answered(client.thinkTime);
    client.send({ type: 'reply', number: output.number, index, reply: output.reply });
  }

  #refused(index: number, output: Extract<Output, { type: 'refused' }>): void {
    // Another server has sent it: no client of this one has asked.
    if (output.server !== this.#deps.serverId) return;
    const client = this.#deps.clients.bySession(output.session);
    if (client === undefined) return;
    const own = output.generation >= client.firstGeneration && output.generation <= client.generation;
    if (!own) return;
    this.#deps.counters.requestsRefused += 1;
    switch (output.code) {
      case 'SESSION_EXPIRED':
        this.#ended(index, output.session, 'expired');
        return;
      case 'SESSION_MOVED':
        // A second copy of this connection's own attach raised the generation behind the request's back: it counts under the new one.
        if (output.generation === client.generation) this.#deps.clients.moved(client);
        else this.#resend(client, output.number, 'OUT_OF_ORDER');
        return;
      case 'OUT_OF_ORDER':
        // At or below the last applied one it is a copy whose answer the client has acknowledged.
        if (output.number <= output.lastApplied) client.window.answered(output.number);
        else this.#resend(client, output.number, 'OUT_OF_ORDER', output.lastApplied + 1);
        return;
      case 'OVERLOADED':
        this.#resend(client, output.number, 'OVERLOADED');
        return;
    }
  }

  #resend(client: SessionClient, number: number, code: ErrorCode, nextToApply?: number): void {
    // Not covered: a copy from before an earlier resend, of which the client has been notified.
    if (client.window.covers(number)) client.resend(code, nextToApply);
  }

  #attached(index: number, output: Extract<Output, { type: 'attached' }>): void {
    const { reply, server, correlation } = output;
    // An attach is a sign of life, wherever it came in.
    if (reply.type === 'attached') this.#deps.leases.renew(reply.session);
    this.#deps.crowd.attached();
    if (reply.type === 'attached' && server !== this.#deps.serverId) this.#deps.addresses.gone(reply.session);
    if (server === this.#deps.serverId && this.#deps.attaches.decided(correlation, index, reply)) return;
    if (reply.type !== 'attached') return;
    const client = this.#deps.clients.bySession(reply.session);
    if (client !== undefined) this.#deps.clients.moved(client);
  }

  #ended(index: number, session: number, reason: EndReason): void {
    const client = this.#deps.clients.bySession(session);
    if (client === undefined) return;
    client.send({ type: 'ended', index, reason });
    this.#deps.clients.unbind(client);
  }

  #toSession(session: number, message: SessionOutput): void {
    this.#deps.clients.bySession(session)?.send(message);
  }
}
