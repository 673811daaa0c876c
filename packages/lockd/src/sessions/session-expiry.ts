/**
 * The leader ends sessions whose time is over: proposes the expiry as an entry that names session and generation, at most one
 * for a session at a time, and gives the session new time when the entry comes back without effect.
 */

import { CommandType, decodeCommand, encodeCommand } from '@holdfast/protocol';
import type { ReplicaStatus } from '@holdfast/raft';
import type { Clock, Logger } from '@holdfast/runtime';
import { encodeEntry, entryPayload, type StateMachine } from '@holdfast/state';
import { SessionLeases } from './session-leases.ts';

const COMMAND_OFFSET = 1;

export interface SessionExpiryDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: StateMachine;
  propose(entry: Uint8Array): void;
  /** Renewals and attaches may wait in a queue of this ensemble's own. */
  crowded(): boolean;
}

export class SessionExpiry {
  readonly leases: SessionLeases;
  readonly #deps: SessionExpiryDeps;
  /** The term in which the leases run; 0 while this server does not lead. */
  #term = 0;

  constructor(deps: SessionExpiryDeps) {
    this.#deps = deps;
    this.leases = new SessionLeases(
      (session) => this.#expire(session),
      deps.clock,
      () => deps.crowded(),
    );
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    this.#term = term;
    if (term === 0) this.leases.stop();
    else this.leases.start(this.#deps.state.sessions().filter(({ ending }) => !ending));
  }

  /** After an entry was applied and its outputs were routed. */
  applied(entry: Uint8Array): void {
    if (this.#term === 0 || entry[COMMAND_OFFSET] !== CommandType.expireSession) return;
    // A session that ended is not in the leases any more.
    this.leases.survived(sessionOf(entry));
  }

  /** The proposal is not in the log. */
  refused(entry: Uint8Array): void {
    this.leases.retry(sessionOf(entry));
  }

  stop(): void {
    this.#term = 0;
    this.leases.stop();
  }

  #expire(session: number): void {
    const known = this.#deps.state.session(session);
    if (known === undefined) {
      this.leases.remove(session);
      return;
    }
    const { generation, timeoutMs, label } = known;
    this.#deps.logger.info({ sessionId: session, timeoutMs, label }, 'session expired');
    const payload = encodeCommand({ type: 'expireSession', session, generation });
    const command = CommandType.expireSession;
    this.#deps.propose(encodeEntry({ command, session: 0, generation: 0, number: 0, ackedUpTo: 0 }, payload));
  }
}

function sessionOf(entry: Uint8Array): number {
  const command = decodeCommand('expireSession', entryPayload(entry));
  return command.type === 'expireSession' ? command.session : 0;
}
