/** The session port as this server's parts serve it: judges what a client may ask and when, and hands it to the part that answers it. */

import { CommandType, isClientCommand, type AdminAnswer, type AdminOperation } from '@holdfast/protocol';
import { invariant } from '@holdfast/raft';
import type { Clock } from '@holdfast/runtime';
import { encodeEntry } from '@holdfast/state';
import type { ServerCounters } from '../counters.ts';
import type { WritesHalt } from '../health/writes-halt.ts';
import { MAX_COMMAND_BYTES } from '../limits.ts';
import type { AdminRequests } from '../members/admin-requests.ts';
import type { CommitBatcher } from '../requests/batching/commit-batcher.ts';
import type { Proposals } from '../requests/proposals.ts';
import type { Reads } from '../requests/reads.ts';
import type { Attaches } from '../sessions/attaches.ts';
import type { Renewals } from '../sessions/renewals.ts';
import type { Watches } from '../watches/watches.ts';
import type { Admission } from './admission.ts';
import type { ClientChannel } from './client-channel.ts';
import type { SessionClient } from './session-client.ts';
import type { SessionClients } from './session-clients.ts';
import type {
  EnsembleView,
  SessionPort,
  SessionRead,
  SessionRequest,
  UnwatchRequest,
  WatchRequest,
} from './session-port.ts';

/** Of a session's first request. */
const FIRST_NUMBER = 1;

export interface SessionServiceDeps {
  readonly clock: Clock;
  readonly ensemble: EnsembleView;
  readonly counters: ServerCounters;
  readonly clients: SessionClients;
  readonly admission: Admission;
  readonly halt: WritesHalt;
  readonly batcher: CommitBatcher;
  readonly proposals: Proposals;
  readonly attaches: Attaches;
  readonly renewals: Renewals;
  readonly reads: Reads;
  readonly watches: Pick<Watches, 'watch' | 'unwatch'>;
  readonly admin: AdminRequests;
}

export class SessionService implements SessionPort {
  readonly #deps: SessionServiceDeps;

  constructor(deps: SessionServiceDeps) {
    this.#deps = deps;
  }

  get ensemble(): EnsembleView {
    return this.#deps.ensemble;
  }

  open(channel: ClientChannel): SessionClient {
    return this.#deps.clients.open(channel);
  }

  close(client: SessionClient): void {
    this.#deps.clients.close(client);
  }

  admit(client: SessionClient): number | undefined {
    const againInMs = this.#deps.admission.comeAgainInMs();
    if (againInMs === undefined) this.#deps.admission.welcomed(client);
    return againInMs;
  }

  attach(client: SessionClient, id: number, payload: Uint8Array): void {
    if (this.#refusesWrites(client)) return;
    this.#deps.attaches.attach(client, id, payload);
  }

  request(client: SessionClient, { command, number, ackedUpTo, payload }: SessionRequest): void {
    this.#deps.counters.requestsReceived += 1;
    if (!isClientCommand(command) || command === CommandType.attach) {
      // In the log an unknown command would stop every server.
      client.goodbye('UNSUPPORTED', `command ${command} is not one that this server takes as a request`);
      return;
    }
    if (payload.length > MAX_COMMAND_BYTES) {
      client.goodbye('LIMIT_EXCEEDED', `a command of ${payload.length} bytes is over ${MAX_COMMAND_BYTES}`);
      return;
    }
    if (client.session === 0) {
      // What was under way when the session ended has no answer any more.
      if (!client.detached) client.goodbye('MALFORMED', 'a request needs a session; attach first');
      return;
    }
    if (number < FIRST_NUMBER) {
      client.goodbye('MALFORMED', `a request has the number ${number}; a session's first one is ${FIRST_NUMBER}`);
      return;
    }
    if (this.#refusesWrites(client)) return;
    const admission = client.window.received(number, payload.length);
    if (admission === 'drop') return;
    if (admission === 'too-much') {
      client.refuse(number);
      return;
    }
    if (admission === 'overflow') {
      client.goodbye('OVERLOADED', 'too many requests are unanswered; wait for answers');
      return;
    }
    const nowMs = this.#deps.clock.monotonicMs();
    this.#deps.batcher.returned(client.thinkTime, nowMs);
    const { session, generation, window } = client;
    invariant(window.covers(number), 'what-is-submitted-waits-for-its-answer');
    const entry = encodeEntry({ command, session, generation, number, ackedUpTo }, payload);
    if (!this.#deps.proposals.submit(entry, session, window.size, nowMs)) client.refuse(window.takeBack(number));
  }

  read(client: SessionClient, read: SessionRead): void {
    this.#deps.reads.read(client, read);
  }

  renew(client: SessionClient, id: number): void {
    this.#deps.renewals.heartbeat(client, id);
  }

  watch(client: SessionClient, request: WatchRequest): void {
    this.#deps.watches.watch(client, request);
  }

  unwatch(client: SessionClient, request: UnwatchRequest): void {
    this.#deps.watches.unwatch(client, request);
  }

  admin(operation: AdminOperation, answered: (answer: AdminAnswer) => void): void {
    this.#deps.admin.ask(operation, answered);
  }

  #refusesWrites(client: SessionClient): boolean {
    const { acceptsWrites, index } = this.#deps.halt;
    if (acceptsWrites) return false;
    const problem = `no majority of the servers had the same state at index ${index}`;
    client.goodbye('NO_LEADER', `writes are refused: ${problem}; an operator has to restore one`);
    return true;
  }
}
