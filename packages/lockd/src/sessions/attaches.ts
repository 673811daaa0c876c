/**
 * Attaches on their way: which connection asked for which session, until the state machine has decided. An attach that may have
 * been lost is proposed again from here, not by the client: it is idempotent by the session's secret, and whichever copy is
 * applied last has the generation that counts. Every connection has one correlation number for all its copies.
 */

import { CommandType, MalformedError, decodeCommand, type ErrorCode, type Reply } from '@holdfast/protocol';
import type { Clock, Timer } from '@holdfast/runtime';
import { encodeEntry } from '@holdfast/state';
import type { ClientConnection } from '../clients/client-connection.ts';
import type { ClientConnections } from '../clients/client-connections.ts';
import type { ServerCounters } from '../counters.ts';
import { ATTACH_RETRY_MS } from '../limits.ts';
import type { Proposals } from '../requests/proposals.ts';

export interface AttachesDeps {
  readonly serverId: number;
  /** Where correlation numbers begin: random, so that copies proposed by an earlier process of this server mean nothing here. */
  readonly firstCorrelation: number;
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly connections: ClientConnections;
  readonly proposals: Proposals;
  appliedIndex(): number;
  /** Why no session may be made for the secret; undefined when one may, or exists. */
  refusal(secret: Uint8Array): Reply | undefined;
}

interface Attach {
  readonly connection: ClientConnection;
  readonly secret: Uint8Array;
  payload: Uint8Array;
  /** The client's id of the attach that is not answered; undefined when none is. */
  pendingId: number | undefined;
  /** The pending one is proposed or forwarded, and nothing says that it was lost. */
  submitted: boolean;
}

export class Attaches {
  readonly #deps: AttachesDeps;
  readonly #byCorrelation = new Map<number, Attach>();
  #nextCorrelation: number;
  #retryTimer: Timer | undefined;

  constructor(deps: AttachesDeps) {
    this.#deps = deps;
    this.#nextCorrelation = deps.firstCorrelation;
  }

  attach(connection: ClientConnection, id: number, payload: Uint8Array): void {
    this.#deps.counters.attaches += 1;
    let secret = new Uint8Array();
    let refusal: Reply | undefined;
    try {
      const command = decodeCommand('attach', payload);
      if (command.type !== 'attach') return;
      secret = new Uint8Array(command.secret);
      if (command.session === 0) refusal = this.#deps.refusal(secret);
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      refusal = { type: 'error', code: 'INVALID_ARGUMENT', message: error.message };
    }
    if (refusal !== undefined) {
      connection.send({ type: 'attached', id, index: this.#deps.appliedIndex(), reply: refusal });
      return;
    }
    let attach = this.#byCorrelation.get(connection.correlation);
    if (attach === undefined) {
      connection.correlation = this.#nextCorrelation++;
      attach = { connection, secret, payload, pendingId: id, submitted: false };
      this.#byCorrelation.set(connection.correlation, attach);
    } else if (!sameBytes(attach.secret, secret)) {
      connection.goodbye('INVALID_ARGUMENT', 'a connection serves one session; open another for another');
      return;
    }
    // The frame's bytes are not ours.
    attach.payload = new Uint8Array(payload);
    attach.pendingId = id;
    this.#submit(attach);
  }

  /**
   * The state machine has decided about an attach that this server proposed. False when it is not a copy of an attach of a
   * present connection.
   */
  decided(correlation: number, index: number, reply: Reply): boolean {
    const attach = this.#byCorrelation.get(correlation);
    if (attach === undefined) return false;
    const { connection, pendingId } = attach;
    if (reply.type === 'attached') this.#deps.connections.bind(connection, reply.session, reply.generation);
    attach.pendingId = undefined;
    attach.submitted = false;
    if (pendingId !== undefined) connection.send({ type: 'attached', id: pendingId, index, reply });
    return true;
  }

  /** Whether an attach of the connection is not yet answered. */
  isPending(connection: ClientConnection): boolean {
    return this.#byCorrelation.get(connection.correlation)?.pendingId !== undefined;
  }

  /** Nothing that was submitted can be counted on; proposed again as soon as there is a leader. */
  lost(): void {
    for (const attach of this.#byCorrelation.values()) attach.submitted = false;
    this.#scheduleRetry();
  }

  /** One copy is not in the log. */
  refused(correlation: number, code: ErrorCode): void {
    const attach = this.#byCorrelation.get(correlation);
    if (attach === undefined || attach.pendingId === undefined) return;
    if (code === 'SHUTTING_DOWN') {
      attach.connection.goodbye(code, 'the server is stopping; use another');
      return;
    }
    attach.submitted = false;
    this.#scheduleRetry();
  }

  /** A leader is known, perhaps a new one. */
  submitAll(): void {
    for (const attach of this.#byCorrelation.values()) this.#submit(attach);
  }

  closed(connection: ClientConnection): void {
    this.#byCorrelation.delete(connection.correlation);
  }

  stop(): void {
    this.#retryTimer?.cancel();
  }

  #submit(attach: Attach): void {
    if (attach.pendingId === undefined || attach.submitted || this.#deps.proposals.leader === 0) return;
    const entry = encodeEntry(
      {
        command: CommandType.attach,
        session: 0,
        generation: this.#deps.serverId,
        number: attach.connection.correlation,
        ackedUpTo: 0,
      },
      attach.payload,
    );
    attach.submitted = true;
    this.#deps.proposals.submit(entry, 0);
  }

  #scheduleRetry(): void {
    if (this.#retryTimer !== undefined || this.#byCorrelation.size === 0) return;
    this.#retryTimer = this.#deps.clock.setTimer(ATTACH_RETRY_MS, () => {
      this.#retryTimer = undefined;
      this.submitAll();
    });
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, position) => byte === b[position]);
}
