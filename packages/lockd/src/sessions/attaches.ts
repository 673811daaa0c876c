/**
 * Attaches on their way: which connection asked for which session, until the state machine has decided. An attach that may have
 * been lost is proposed again from here, not by the client: it is idempotent by the session's secret, and whichever copy is
 * applied last has the generation that counts. Every connection has one correlation number for all its copies.
 */

import {
  CommandType,
  MalformedError,
  decodeAttachRequest,
  encodeCommand,
  type AttachRequest,
  type ErrorCode,
  type Reply,
} from '@holdfast/protocol';
import type { Clock, Timer } from '@holdfast/runtime';
import { encodeEntry, type EntryHeader } from '@holdfast/state';
import type { ReplicaStatus } from '@holdfast/raft';
import type { SessionClient } from '../port/session-client.ts';
import type { SessionClients } from '../port/session-clients.ts';
import type { ServerCounters } from '../counters.ts';
import { ATTACH_RETRY_MS } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { Proposals } from '../requests/proposals.ts';
import type { AddressSessions } from './address-sessions.ts';
import { secretHash } from './secret-hash.ts';

export interface AttachesDeps {
  readonly correlations: CorrelationIds;
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly clients: SessionClients;
  readonly proposals: Proposals;
  readonly addresses: AddressSessions;
  appliedIndex(): number;
  /** A client was told that it is attached. */
  attached(client: SessionClient): void;
  /** Whether there is a session with the secret of that hash. */
  exists(secretHash: Uint8Array): boolean;
  /** Why no session may be made, or none that gives something back; undefined when one may. */
  refusal(givesBack: boolean): Reply | undefined;
}

interface Attach {
  readonly client: SessionClient;
  readonly secretHash: Uint8Array;
  /** That of the command; the secret itself stays here for no longer than its hash takes. */
  payload: Uint8Array;
  /** The pending one is proposed or forwarded, and nothing says that it was lost. */
  submitted: boolean;
}

export class Attaches implements ServerPart {
  readonly #deps: AttachesDeps;
  readonly #byCorrelation = new Map<number, Attach>();
  /** Addresses of clients that are closed, and whose attach is not decided. */
  readonly #leaving = new Map<number, string>();
  #retryTimer: Timer | undefined;

  constructor(deps: AttachesDeps) {
    this.#deps = deps;
  }

  attach(client: SessionClient, id: number, payload: Uint8Array): void {
    this.#deps.counters.attaches += 1;
    const request = decoded(payload);
    if ('code' in request) {
      this.#refuse(client, id, request);
      return;
    }
    const { secret, session, timeoutMs, label, givesBack = false } = request;
    const hash = secretHash(secret);
    const refusal = session === 0 ? this.#refusal(client, hash, givesBack) : undefined;
    if (refusal !== undefined) {
      this.#refuse(client, id, refusal);
      return;
    }
    const command = encodeCommand({ type: 'attach', secretHash: hash, session, timeoutMs, label });
    let attach = this.#byCorrelation.get(client.correlation);
    if (attach === undefined) {
      client.correlation = this.#deps.correlations.next();
      attach = { client, secretHash: hash, payload: command, submitted: false };
      this.#byCorrelation.set(client.correlation, attach);
    } else if (!sameBytes(attach.secretHash, hash)) {
      client.goodbye('INVALID_ARGUMENT', 'a connection serves one session; open another for another');
      return;
    }
    attach.payload = command;
    client.attachId = id;
    this.#submit(attach);
  }

  /**
   * The state machine has decided about an attach that this server proposed. False when it is not a copy of an attach of a
   * present connection.
   */
  decided(correlation: number, index: number, reply: Reply): boolean {
    const attach = this.#byCorrelation.get(correlation);
    const address = attach?.client.remoteAddress ?? this.#leaving.get(correlation);
    this.#leaving.delete(correlation);
    // The id of a session is the index of the entry that made it.
    if (reply.type === 'attached' && reply.session === index && address !== undefined)
      this.#deps.addresses.created(reply.session, address);
    if (attach === undefined) return false;
    const { client } = attach;
    const { attachId } = client;
    if (reply.type === 'attached') this.#deps.clients.bind(client, reply.session, reply.generation);
    client.attachId = undefined;
    attach.submitted = false;
    if (attachId !== undefined) client.send({ type: 'attached', id: attachId, index, reply });
    if (attachId !== undefined && reply.type === 'attached') this.#deps.attached(client);
    return true;
  }

  /** Nothing that was submitted can be counted on; proposed again as soon as there is a leader. */
  submissionsLost(): void {
    for (const attach of this.#byCorrelation.values()) attach.submitted = false;
    this.#leaving.clear();
    this.#scheduleRetry();
  }

  entryRefused(_entry: Uint8Array, { command, number }: EntryHeader, code: ErrorCode): boolean {
    if (command !== CommandType.attach) return false;
    this.#copyRefused(number, code);
    return true;
  }

  /** One copy is not in the log. */
  #copyRefused(correlation: number, code: ErrorCode): void {
    const attach = this.#byCorrelation.get(correlation);
    if (attach === undefined || attach.client.attachId === undefined) return;
    if (code === 'SHUTTING_DOWN') {
      attach.client.goodbye(code, 'the server is stopping; use another');
      return;
    }
    attach.submitted = false;
    this.#scheduleRetry();
  }

  /** A leader is known, perhaps a new one; the proposals know it already. */
  statusChanged({ leader }: ReplicaStatus): void {
    if (leader !== 0) this.#submitAll();
  }

  #submitAll(): void {
    for (const attach of this.#byCorrelation.values()) this.#submit(attach);
  }

  clientClosed(client: SessionClient): void {
    // It may yet make a session, which counts for its address.
    if (client.attachId !== undefined) this.#leaving.set(client.correlation, client.remoteAddress);
    this.#byCorrelation.delete(client.correlation);
  }

  stop(): void {
    this.#retryTimer?.cancel();
  }

  /** A session that exists is attached to, whoever may make none. */
  #refusal(client: SessionClient, hash: Uint8Array, givesBack: boolean): Reply | undefined {
    const refusal = this.#deps.addresses.refusal(client.remoteAddress) ?? this.#deps.refusal(givesBack);
    return refusal === undefined || this.#deps.exists(hash) ? undefined : refusal;
  }

  #refuse(client: SessionClient, id: number, reply: Reply): void {
    client.send({ type: 'attached', id, index: this.#deps.appliedIndex(), reply });
  }

  #submit(attach: Attach): void {
    if (attach.client.attachId === undefined || attach.submitted || this.#deps.proposals.leader === 0) return;
    const entry = encodeEntry(
      {
        command: CommandType.attach,
        session: 0,
        generation: 0,
        number: attach.client.correlation,
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
      this.#submitAll();
    });
  }
}

function decoded(payload: Uint8Array): AttachRequest | Extract<Reply, { type: 'error' }> {
  try {
    return decodeAttachRequest(payload);
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    return { type: 'error', code: 'INVALID_ARGUMENT', message: error.message };
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, position) => byte === b[position]);
}
