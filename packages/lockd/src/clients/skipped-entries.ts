/**
 * A restored snapshot skips entries whose outputs nobody here has seen. Tells this server's clients what those entries did to them, as
 * far as two states can tell it: sessions that ended or moved, waits that were granted, holds that are gone; answers are asked for
 * again. Who cannot be told for certain is sent away, and learns it from the answer to its next attach.
 */

import type { Acquire } from '@holdfast/protocol';
import type { StateMachine } from '@holdfast/state';
import type { Attaches } from '../sessions/attaches.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { AddressSessions } from '../sessions/address-sessions.ts';
import type { ClientConnection } from './client-connection.ts';
import type { ClientConnections } from './client-connections.ts';

export interface SkippedEntriesDeps {
  readonly serverId: number;
  readonly state: StateMachine;
  readonly connections: ClientConnections;
  readonly addresses: AddressSessions;
  readonly attaches: Pick<Attaches, 'submissionsLost'>;
}

/** By connection: the waits and holds of its session, all of which the client has been told. */
type Known = ReadonlyMap<ClientConnection, readonly Acquire[]>;

export class SkippedEntries implements ServerPart {
  readonly #deps: SkippedEntriesDeps;
  /** What clients know, while the state is being replaced. */
  #known: Known = new Map();

  constructor(deps: SkippedEntriesDeps) {
    this.#deps = deps;
  }

  restoring(): void {
    const { connections, state } = this.#deps;
    const bound = [...connections].filter(({ session }) => session !== 0);
    this.#known = new Map(bound.map((connection) => [connection, state.acquires(connection.session)]));
  }

  restored(): void {
    for (const [connection, acquires] of this.#known) this.#tellOne(connection, acquires);
    this.#known = new Map();
    const { state, serverId, addresses } = this.#deps;
    addresses.keep((session) => state.session(session)?.server === serverId);
    // A copy that was skipped is gone with its answer; another makes the same session tell the same.
    this.#deps.attaches.submissionsLost();
  }

  #tellOne(connection: ClientConnection, known: readonly Acquire[]): void {
    const { state, connections } = this.#deps;
    const index = state.appliedIndex;
    const session = state.session(connection.session);
    if (session === undefined) {
      // How it ended is not in the state; that nobody holds anything of it any more is.
      connection.send({ type: 'ended', index, reason: 'expired' });
      connections.unbind(connection);
      return;
    }
    if (session.generation !== connection.generation) {
      if (connection.attachId === undefined) connections.moved(connection);
      return;
    }
    const now = new Map(state.acquires(session.id).map((acquire) => [acquire.acquireIndex, acquire]));
    const gone = known.filter(({ acquireIndex }) => !now.has(acquireIndex));
    if (gone.length > 0 && !connection.window.isEmpty) {
      connection.goodbye(
        'NOT_CAUGHT_UP',
        'this server has skipped entries and cannot say whether a lock was released or lost; attach again',
      );
      return;
    }
    for (const { lock, acquireIndex } of gone) {
      connection.send({ type: 'lost', index, lock, acquireIndex, reason: 'revoked' });
    }
    for (const { lock, acquireIndex, token: before } of known) {
      const token = now.get(acquireIndex)?.token ?? 0;
      if (token !== before && token !== 0) connection.send({ type: 'granted', index, lock, acquireIndex, token });
    }
    connection.resend('NOT_CAUGHT_UP');
  }
}
