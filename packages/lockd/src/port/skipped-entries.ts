/**
 * A restored snapshot skips entries whose outputs nobody here has seen. Notifies this server's clients of what these did to them, as
 * far as two states can show it: sessions that ended or moved, waits that were granted, holds that are gone; answers are asked for
 * again. Who cannot be notified for certain is sent away, and learns it from the answer to its next attach.
 */

import type { Acquire } from '@holdfast/protocol';
import type { StateMachine } from '@holdfast/state';
import type { Attaches } from '../sessions/attaches.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { AddressSessions } from '../sessions/address-sessions.ts';
import type { SessionClient } from './session-client.ts';
import type { SessionClients } from './session-clients.ts';

export interface SkippedEntriesDeps {
  readonly serverId: number;
  readonly state: StateMachine;
  readonly clients: SessionClients;
  readonly addresses: AddressSessions;
  readonly attaches: Pick<Attaches, 'submissionsLost'>;
}

/** By connection: the waits and holds of its session, all of which the client has been sent. */
type Known = ReadonlyMap<SessionClient, readonly Acquire[]>;

export class SkippedEntries implements ServerPart {
  readonly #deps: SkippedEntriesDeps;
  /** What clients know, while the state is being replaced. */
  #known: Known = new Map();

  constructor(deps: SkippedEntriesDeps) {
    this.#deps = deps;
  }

  restoring(): void {
    const { clients, state } = this.#deps;
    const bound = [...clients].filter(({ session }) => session !== 0);
    this.#known = new Map(bound.map((client) => [client, state.acquires(client.session)]));
  }

  restored(): void {
    for (const [client, acquires] of this.#known) this.#notify(client, acquires);
    this.#known = new Map();
    const { state, serverId, addresses } = this.#deps;
    addresses.keep((session) => state.session(session)?.server === serverId);
    // A copy that was skipped is gone with its answer; another makes the same session tell the same.
    this.#deps.attaches.submissionsLost();
  }

  #notify(client: SessionClient, known: readonly Acquire[]): void {
    const { state, clients } = this.#deps;
    const index = state.appliedIndex;
    const session = state.session(client.session);
    if (session === undefined) {
      // How it ended is not in the state; that nobody holds anything of it any more is.
      client.send({ type: 'ended', index, reason: 'expired' });
      clients.unbind(client);
      return;
    }
    if (session.generation !== client.generation) {
      if (client.attachId === undefined) clients.moved(client);
      return;
    }
    const now = new Map(state.acquires(session.id).map((acquire) => [acquire.acquireIndex, acquire]));
    const gone = known.filter(({ acquireIndex }) => !now.has(acquireIndex));
    if (gone.length > 0 && !client.window.isEmpty) {
      client.goodbye(
        'NOT_CAUGHT_UP',
        'this server has skipped entries and cannot say whether a lock was released or lost; attach again',
      );
      return;
    }
    for (const { lock, acquireIndex } of gone) {
      client.send({ type: 'lost', index, lock, acquireIndex, reason: 'revoked' });
    }
    for (const { lock, acquireIndex, token: before } of known) {
      const token = now.get(acquireIndex)?.token ?? 0;
      if (token !== before && token !== 0) client.send({ type: 'granted', index, lock, acquireIndex, token });
    }
    client.resend('NOT_CAUGHT_UP');
  }
}
