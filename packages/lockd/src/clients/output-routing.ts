/**
 * Brings what applying an entry tells the servers to the connections of this server, in the order in which the state machine
 * tells it: events of an index before the reply that shows its state, and the end of a session last.
 */

import type { ErrorCode, ServerMessage } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import type { Output } from '@holdfast/state';
import type { AddressSessions } from '../sessions/address-sessions.ts';
import type { Attaches } from '../sessions/attaches.ts';
import type { ClientConnection } from './client-connection.ts';
import type { ClientConnections } from './client-connections.ts';
import type { ServerCounters } from '../counters.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { ProposalGate } from '../requests/gathering/proposal-gate.ts';
import type { ReturningCrowd } from '../sessions/returning-crowd.ts';
import type { SessionLeases } from '../sessions/session-leases.ts';

export interface OutputRoutingDeps {
  readonly serverId: number;
  readonly counters: ServerCounters;
  readonly connections: ClientConnections;
  readonly gate: ProposalGate;
  readonly attaches: Attaches;
  readonly addresses: AddressSessions;
  readonly leases: SessionLeases;
  readonly crowd: Pick<ReturningCrowd, 'attached'>;
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
        const { lock, acquireIndex, token } = output;
        this.#toSession(output.session, { type: 'granted', index, lock, acquireIndex, token });
        return;
      }
      case 'lost': {
        const { lock, acquireIndex, reason } = output;
        this.#toSession(output.session, { type: 'lost', index, lock, acquireIndex, reason });
        return;
      }
      case 'sessionCreated':
        this.#deps.leases.arm(output.session, output.timeoutMs);
        this.#deps.sessionsChanged();
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
    const connection = this.#deps.connections.bySession(output.session);
    if (connection === undefined || output.generation < connection.firstGeneration) return;
    if (output.generation > connection.generation) return;
    this.#deps.counters.requestsReplied += 1;
    connection.window.answered(output.number);
    if (connection.window.isEmpty) this.#deps.gate.answered(connection.habit);
    connection.send({ type: 'reply', number: output.number, index, reply: output.reply });
  }

  #refused(index: number, output: Extract<Output, { type: 'refused' }>): void {
    // Another server has sent it: no client of this one has asked.
    if (output.server !== this.#deps.serverId) return;
    const connection = this.#deps.connections.bySession(output.session);
    if (connection === undefined) return;
    const own = output.generation >= connection.firstGeneration && output.generation <= connection.generation;
    if (!own) return;
    this.#deps.counters.requestsRefused += 1;
    switch (output.code) {
      case 'SESSION_EXPIRED':
        this.#ended(index, output.session, 'expired');
        return;
      case 'SESSION_MOVED':
        // A second copy of this connection's own attach raised the generation behind the request's back: it counts under the new one.
        if (output.generation === connection.generation) this.#deps.connections.moved(connection);
        else this.#resend(connection, output.number, 'OUT_OF_ORDER');
        return;
      case 'OUT_OF_ORDER':
        // At or below the last applied one it is a copy whose answer the client has acknowledged.
        if (output.number <= output.lastApplied) connection.window.answered(output.number);
        else this.#resend(connection, output.number, 'OUT_OF_ORDER', output.lastApplied + 1);
        return;
      case 'OVERLOADED':
        this.#resend(connection, output.number, 'OVERLOADED');
        return;
    }
  }

  #resend(connection: ClientConnection, number: number, code: ErrorCode, nextToApply?: number): void {
    // Not covered: a copy from before an earlier resend, of which the client has been told.
    if (connection.window.covers(number)) connection.resend(code, nextToApply);
  }

  #attached(index: number, output: Extract<Output, { type: 'attached' }>): void {
    const { reply, server, correlation } = output;
    // An attach is a sign of life, wherever it came in.
    if (reply.type === 'attached') this.#deps.leases.renew(reply.session);
    this.#deps.crowd.attached();
    if (reply.type === 'attached' && server !== this.#deps.serverId) this.#deps.addresses.gone(reply.session);
    if (server === this.#deps.serverId && this.#deps.attaches.decided(correlation, index, reply)) return;
    if (reply.type !== 'attached') return;
    const connection = this.#deps.connections.bySession(reply.session);
    if (connection !== undefined) this.#deps.connections.moved(connection);
  }

  #ended(index: number, session: number, reason: 'expired' | 'revoked' | 'closed'): void {
    const connection = this.#deps.connections.bySession(session);
    if (connection === undefined) return;
    connection.send({ type: 'ended', index, reason });
    this.#deps.connections.unbind(connection);
  }

  #toSession(session: number, message: ServerMessage): void {
    this.#deps.connections.bySession(session)?.send(message);
  }
}
