/**
 * The leader ends sessions whose time is over: proposes the expiry as an entry that names session and generation, at most one
 * for a session at a time. One whose entry has no effect gets new time (output-routing.ts).
 */

import { CommandType, decodeCommand, encodeCommand } from '@holdfast/protocol';
import type { ReplicaStatus } from '@holdfast/raft';
import type { Logger } from '@holdfast/runtime';
import { encodeEntry, entryPayload, type EntryHeader, type StateMachine } from '@holdfast/state';
import type { ServerPart } from '../machine/server-part.ts';
import type { SessionLeases } from './session-leases.ts';

export interface SessionExpiryDeps {
  readonly logger: Logger;
  readonly state: StateMachine;
  readonly leases: SessionLeases;
  propose(entry: Uint8Array): void;
}

export class SessionExpiry implements ServerPart {
  readonly #deps: SessionExpiryDeps;
  /** The term in which the leases run; 0 while this server does not lead. */
  #term = 0;

  constructor(deps: SessionExpiryDeps) {
    this.#deps = deps;
    deps.leases.onExpired((session) => this.#expire(session));
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    this.#term = term;
    const { leases, state } = this.#deps;
    if (term === 0) leases.stop();
    else leases.start(state.sessions().filter(({ ending }) => !ending));
  }

  entryRefused(entry: Uint8Array, { command }: EntryHeader): boolean {
    if (command !== CommandType.expireSession) return false;
    this.#deps.leases.retry(sessionOf(entry));
    return true;
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#term = 0;
    this.#deps.leases.stop();
  }

  #expire(session: number): void {
    const known = this.#deps.state.session(session);
    if (known === undefined) {
      this.#deps.leases.remove(session);
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
