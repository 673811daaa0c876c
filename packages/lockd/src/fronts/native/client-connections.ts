/**
 * The client connections of this front: which have something to be flushed, which are of no use to anybody, and goodbyes to all
 * to leave.
 */

import { ClientFeature, hasFeature, type ErrorCode, type ServerMessage } from '@holdfast/protocol';
import { RefusalLog, type Clock, type Connection, type Logger, type Timer } from '@holdfast/runtime';
import { ClientConnection, type ConnectionOwner, type MessageReceiver } from './client-connection.ts';
import type { ServerCounters } from '../../counters.ts';
import { IDLE_LOOK_MS, MAX_IDLE_LOOKS } from '../../limits.ts';
import type { ServerPart } from '../../machine/server-part.ts';
import { MessageTurns } from './message-turns.ts';
import { OutputBudget } from './output-budget.ts';
import type { SessionPort } from '../../port/session-port.ts';

/** Goodbyes for what the client did or is; the others tell of this server. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'MALFORMED',
  'INVALID_ARGUMENT',
  'VERSION_MISMATCH',
  'UNSUPPORTED',
  'WRONG_CLUSTER',
  'LIMIT_EXCEEDED',
  'OVERLOADED',
]);

const IDLE_SECONDS = (MAX_IDLE_LOOKS * IDLE_LOOK_MS) / 1_000;

export interface ConnectionsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: ServerCounters;
  readonly port: SessionPort;
  /** What clients say. */
  readonly receiver: MessageReceiver;
  /** Something waits to be flushed. */
  wake(): void;
}

export class ClientConnections implements ConnectionOwner, ServerPart {
  readonly #deps: ConnectionsDeps;
  readonly #all = new Set<ClientConnection>();
  /** Those which have been sent goodbye and may not have read it yet are in here too. */
  readonly #notGone = new Set<ClientConnection>();
  readonly #refusals: RefusalLog;
  readonly #output: OutputBudget;
  readonly #turns: MessageTurns;
  #idleTimer: Timer | undefined;
  #drained: (() => void) | undefined;
  #dirty: ClientConnection[] = [];

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
    this.#refusals = new RefusalLog('refused a client connection', deps);
    this.#output = new OutputBudget(deps.clock);
    this.#turns = new MessageTurns(deps.clock);
  }

  get size(): number {
    return this.#all.size;
  }

  /** Sent and not read, of all together, as it was seen last. */
  get unreadBytes(): number {
    return this.#output.bytes;
  }

  accept(connection: Connection): void {
    const client = new ClientConnection(connection, this, { ...this.#deps, turns: this.#turns });
    this.#all.add(client);
    this.#notGone.add(client);
    this.#idleTimer ??= this.#deps.clock.setTimer(IDLE_LOOK_MS, () => this.#endIdle());
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

  contactLost(): void {
    this.#dismissDependent('this server has lost contact to a leader; use another');
  }

  halted(): void {
    this.#dismissDependent('writes are refused: the servers disagree; an operator has to restore one');
  }

  /** Says goodbye, and writes what the log still owes. */
  stop(): void {
    for (const connection of this.#all) connection.goodbye('SHUTTING_DOWN', 'the server is stopping; use another');
    this.#idleTimer?.cancel();
    this.#output.stop();
    this.#turns.stop();
    this.#refusals.stop();
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

  dirty(connection: ClientConnection): void {
    this.#dirty.push(connection);
    if (this.#dirty.length === 1) this.#deps.wake();
  }

  dismissed(connection: ClientConnection, code: ErrorCode, message: string): void {
    if (!REFUSALS.has(code)) return;
    const { session } = connection.client;
    const { program } = connection;
    const fields = { ...(session === 0 ? {} : { sessionId: session }), ...(program === '' ? {} : { program }) };
    this.#refusals.refused(code, connection.remoteAddress, message, fields);
  }

  unread(connection: ClientConnection): void {
    if (this.#notGone.has(connection)) this.#output.owes(connection);
  }

  closed(connection: ClientConnection): void {
    this.#all.delete(connection);
  }

  gone(connection: ClientConnection): void {
    this.#notGone.delete(connection);
    this.#output.gone(connection);
    if (this.#notGone.size === 0) this.#drained?.();
  }

  /** Those whom only an ensemble that decides can serve; who reads without a leader stays. */
  #dismissDependent(message: string): void {
    for (const connection of this.#all) if (!connection.withoutLeader) connection.goodbye('NO_LEADER', message);
  }

  /** Nobody is served by a connection that has no session, asks nothing and says nothing. */
  #endIdle(): void {
    this.#idleTimer = undefined;
    for (const connection of this.#all) {
      const { phase, unansweredAdmin, heard } = connection;
      const { session, unansweredReads, attachId } = connection.client;
      const served = session !== 0 || unansweredReads > 0 || unansweredAdmin > 0 || attachId !== undefined;
      connection.heard = false;
      connection.idleLooks = heard || served || phase !== 'greeted' ? 0 : connection.idleLooks + 1;
      if (connection.idleLooks < MAX_IDLE_LOOKS) continue;
      const problem = `this connection has no session and was silent for ${IDLE_SECONDS} s`;
      connection.goodbye('OVERLOADED', `${problem}; connect again when there is something to ask`);
    }
    if (this.#all.size > 0) this.#idleTimer = this.#deps.clock.setTimer(IDLE_LOOK_MS, () => this.#endIdle());
  }
}
