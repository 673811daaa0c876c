/** The clients of all fronts, and who serves which session. A session is bound to at most one client of this server. */

import type { ErrorCode } from '@holdfast/protocol';
import { invariant } from '@holdfast/raft';
import type { EntryHeader } from '@holdfast/state';
import type { ServerCounters } from '../counters.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { RequestBudget } from '../requests/request-budget.ts';
import type { ClientChannel } from './client-channel.ts';
import { SessionClient } from './session-client.ts';

export interface SessionClientsDeps {
  readonly counters: ServerCounters;
  /** What the requests of all of them may take. */
  readonly requests: RequestBudget;
  /** A session was bound to it. */
  bound(client: SessionClient): void;
  /** It is gone, and in no table any more. */
  closed(client: SessionClient): void;
  /** The number of bound sessions has become 0 or has left it. */
  boundChanged(any: boolean): void;
}

export class SessionClients implements ServerPart {
  readonly #deps: SessionClientsDeps;
  readonly #all = new Set<SessionClient>();
  readonly #bySession = new Map<number, SessionClient>();

  constructor(deps: SessionClientsDeps) {
    this.#deps = deps;
  }

  get boundSessions(): number {
    return this.#bySession.size;
  }

  /** Bytes of requests that are not answered, of all clients together. */
  get unansweredRequestBytes(): number {
    return this.#deps.requests.bytes;
  }

  [Symbol.iterator](): Iterator<SessionClient> {
    return this.#all.values();
  }

  open(channel: ClientChannel): SessionClient {
    const client = new SessionClient(channel, this.#deps);
    this.#all.add(client);
    return client;
  }

  close(client: SessionClient): void {
    this.#all.delete(client);
    this.unbind(client);
    this.#deps.closed(client);
  }

  bySession(session: number): SessionClient | undefined {
    return this.#bySession.get(session);
  }

  /** From now on the session's requests come through `client`; another that served it has lost it. */
  bind(client: SessionClient, session: number, generation: number): void {
    const previous = this.#bySession.get(session);
    if (previous !== undefined && previous !== client) this.moved(previous);
    if (!client.open) return;
    if (client.session !== session) {
      this.unbind(client);
      invariant(!this.#bySession.has(session), 'a-session-has-one-client', () => `session ${session}`);
      client.session = session;
      client.firstGeneration = generation;
      client.detached = false;
      this.#bySession.set(session, client);
      if (this.#bySession.size === 1) this.#deps.boundChanged(true);
    } else {
      invariant(generation > client.generation, 'the-generation-of-a-bound-session-rises', () => `session ${session}`);
    }
    client.generation = generation;
    this.#deps.bound(client);
  }

  /** The session was attached elsewhere. */
  moved(client: SessionClient): void {
    client.goodbye('SESSION_MOVED', 'the session was attached through another connection');
  }

  /** The session is over, or the client is gone. */
  unbind(client: SessionClient): void {
    const { session } = client;
    if (session === 0) return;
    invariant(this.#bySession.get(session) === client, 'a-session-has-one-client', () => `session ${session}`);
    this.#bySession.delete(session);
    client.session = 0;
    client.detached = true;
    client.window.reset();
    if (this.#bySession.size === 0) this.#deps.boundChanged(false);
  }

  /** Everything that was submitted may be lost. */
  submissionsLost(code: ErrorCode): void {
    for (const client of this.#all) client.resend(code);
  }

  /** Takes every entry that no part before it has submitted. */
  entryRefused(_entry: Uint8Array, { session, number }: EntryHeader, code: ErrorCode): boolean {
    const client = this.#bySession.get(session);
    // Not covered: the client has been notified already.
    if (client !== undefined && client.window.covers(number)) client.resend(code);
    return true;
  }
}
