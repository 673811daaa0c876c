/**
 * All client connections of this server: who serves which session, which have something to be flushed, and how many there may
 * be. A session is bound to at most one connection here.
 */

import { ClientFeature, hasFeature, type ClientMessage, type ErrorCode, type ServerMessage } from '@holdfast/protocol';
import type { Clock, Connection, Logger } from '@holdfast/runtime';
import { ClientConnection, type ConnectionOwner } from './client-connection.ts';
import type { ServerCounters } from '../counters.ts';
import { MAX_CONNECTIONS } from '../limits.ts';

export interface ConnectionsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: ServerCounters;
  /** A message arrived, the first being hello or not. */
  message(connection: ClientConnection, message: ClientMessage): void;
  /** The connection is gone; it is in no table any more. */
  closed(connection: ClientConnection): void;
  /** The number of bound sessions has become 0 or has left it. */
  boundChanged(any: boolean): void;
  /** Something waits to be flushed. */
  wake(): void;
}

export class ClientConnections implements ConnectionOwner {
  readonly #deps: ConnectionsDeps;
  readonly #all = new Set<ClientConnection>();
  readonly #bySession = new Map<number, ClientConnection>();
  /** Those which have been told goodbye and may not have read it yet are in here too. */
  readonly #notGone = new Set<ClientConnection>();
  #drained: (() => void) | undefined;
  #dirty: ClientConnection[] = [];

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#all.size;
  }

  get boundSessions(): number {
    return this.#bySession.size;
  }

  [Symbol.iterator](): Iterator<ClientConnection> {
    return this.#all.values();
  }

  accept(connection: Connection): void {
    const client = new ClientConnection(connection, this, this.#deps);
    this.#all.add(client);
    this.#notGone.add(client);
    if (this.#all.size > MAX_CONNECTIONS) {
      client.goodbye('OVERLOADED', `this server has ${MAX_CONNECTIONS} connections; use another`);
    }
  }

  bySession(session: number): ClientConnection | undefined {
    return this.#bySession.get(session);
  }

  /** From now on the session's requests come through `connection`; another that served it has lost it. */
  bind(connection: ClientConnection, session: number, generation: number): void {
    const previous = this.#bySession.get(session);
    if (previous !== undefined && previous !== connection) this.moved(previous);
    if (connection.phase === 'closed') return;
    if (connection.session !== session) {
      this.unbind(connection);
      connection.session = session;
      connection.firstGeneration = generation;
      connection.detached = false;
      this.#bySession.set(session, connection);
      if (this.#bySession.size === 1) this.#deps.boundChanged(true);
    }
    connection.generation = generation;
  }

  /** The session was attached elsewhere. */
  moved(connection: ClientConnection): void {
    connection.goodbye('SESSION_MOVED', 'the session was attached through another connection');
  }

  /** The session is over, or the connection. */
  unbind(connection: ClientConnection): void {
    if (connection.session === 0) return;
    this.#bySession.delete(connection.session);
    connection.session = 0;
    connection.detached = true;
    connection.window.reset();
    if (this.#bySession.size === 0) this.#deps.boundChanged(false);
  }

  /** To everyone who has been welcomed. */
  broadcast(message: ServerMessage): void {
    for (const connection of this.#all) {
      if (connection.phase === 'greeted') connection.send(message);
    }
  }

  /** Those who know how go elsewhere by themselves; the others are sent away. False when nobody is left who will go. */
  askToLeave(): boolean {
    let asked = false;
    for (const connection of this.#all) {
      if (connection.phase === 'greeted' && hasFeature(connection.features, ClientFeature.leave)) {
        connection.send({ type: 'leave' });
        asked = true;
      } else {
        connection.goodbye('SHUTTING_DOWN', 'the server is stopping; use another');
      }
    }
    this.flush();
    return asked;
  }

  goodbyeAll(code: ErrorCode, message: string): void {
    for (const connection of this.#all) connection.goodbye(code, message);
  }

  /** Resolves when all connections are gone, or after `waitMs`. */
  drained(waitMs: number, clock: Clock): Promise<void> {
    if (this.#notGone.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.setTimer(waitMs, resolve);
      this.#drained = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  flush(): void {
    if (this.#dirty.length === 0) return;
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const connection of dirty) connection.flush();
  }

  message(connection: ClientConnection, message: ClientMessage): void {
    this.#deps.message(connection, message);
  }

  dirty(connection: ClientConnection): void {
    this.#dirty.push(connection);
    if (this.#dirty.length === 1) this.#deps.wake();
  }

  closed(connection: ClientConnection): void {
    this.#all.delete(connection);
    this.unbind(connection);
    this.#deps.closed(connection);
  }

  gone(connection: ClientConnection): void {
    this.#notGone.delete(connection);
    if (this.#notGone.size === 0) this.#drained?.();
  }
}
