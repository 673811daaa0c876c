/**
 * Holds that an operator has asked for. A session that is attached is told of its own once more: it may be another process than the one that was
 * told first. The leader revokes those whose time is over and that are to be revoked: by its monotonic clock alone, on which a new leader gives each
 * its whole time anew. What it proposes names the request, and is checked again where it is applied.
 */

import { CommandType, decodeCommand, encodeCommand } from '@holdfast/protocol';
import type { Entry, ReplicaStatus } from '@holdfast/raft';
import type { Clock, Logger, Timer } from '@holdfast/runtime';
import {
  encodeEntry,
  entryPayload,
  type EntryHeader,
  type Output,
  type RequestedRelease,
  type StateMachine,
} from '@holdfast/state';
import { RELEASE_TICK_MS, RELEASES_AT_ONCE } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import { TimerWheel } from '../nodes/timer-wheel.ts';
import type { SessionClient } from '../port/session-client.ts';
import type { SessionClients } from '../port/session-clients.ts';

export interface ReleaseRequestsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: Pick<StateMachine, 'appliedIndex' | 'stamp' | 'releaseRequests'>;
  readonly clients: Pick<SessionClients, 'bySession'>;
  readonly propose: (entry: Uint8Array) => void;
}

export class ReleaseRequests implements ServerPart {
  readonly #deps: ReleaseRequestsDeps;
  /** The term in which this server leads; 0 while it does not. */
  #term = 0;
  /** By the index of each request: when its time is over. */
  #wheel: TimerWheel<number>;
  #timer: Timer | undefined;

  constructor(deps: ReleaseRequestsDeps) {
    this.#deps = deps;
    this.#wheel = new TimerWheel(RELEASE_TICK_MS, deps.clock.monotonicMs());
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    this.stop();
    this.#term = term;
    if (term === 0) return;
    for (const { request } of this.#deps.state.releaseRequests()) if (request.revokes) this.#arm(request);
  }

  reported(_entry: Entry, outputs: readonly Output[]): void {
    if (this.#term === 0) return;
    for (const output of outputs) {
      if (output.type === 'releaseRequested' && output.request.revokes) this.#arm(output.request);
    }
  }

  entryRefused(entry: Uint8Array, { command }: EntryHeader): boolean {
    if (command !== CommandType.enforceRelease) return false;
    const refused = decodeCommand('enforceRelease', entryPayload(entry));
    if (this.#term !== 0 && refused.type === 'enforceRelease') this.#arm({ index: refused.request, withinMs: 0 });
    return true;
  }

  clientAttached(client: SessionClient): void {
    for (const requested of this.#deps.state.releaseRequests())
      if (requested.session === client.session) this.#tell(client, requested);
  }

  /** Of requests in entries that were skipped nobody was told. */
  restored(): void {
    for (const requested of this.#deps.state.releaseRequests()) {
      const client = this.#deps.clients.bySession(requested.session);
      if (client !== undefined) this.#tell(client, requested);
    }
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#term = 0;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wheel = new TimerWheel(RELEASE_TICK_MS, this.#deps.clock.monotonicMs());
  }

  /** How much time is left is a hint: by stamps, which may stand still. */
  #tell(client: SessionClient, { lock, acquireIndex, request }: RequestedRelease): void {
    const { appliedIndex: index, stamp } = this.#deps.state;
    const { askedAt, revokes, by } = request;
    const withinMs = Math.max(0, request.withinMs - (stamp - askedAt));
    client.send({ type: 'release-requested', index, lock, acquireIndex, withinMs, revokes, by });
  }

  #arm({ index, withinMs }: { readonly index: number; readonly withinMs: number }): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#wheel.set(index, nowMs + withinMs, nowMs);
    this.#timer ??= this.#deps.clock.setTimer(RELEASE_TICK_MS, () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    const due = this.#wheel.take(this.#deps.clock.monotonicMs(), RELEASES_AT_ONCE);
    if (due.length > 0) this.#enforce(new Set(due));
    if (this.#wheel.size > 0) this.#timer ??= this.#deps.clock.setTimer(RELEASE_TICK_MS, () => this.#look());
  }

  /** Those that are still there; others have gone with their holds, or another has taken their place. */
  #enforce(due: ReadonlySet<number>): void {
    const { state, logger, propose } = this.#deps;
    for (const { lock, acquireIndex, session, request } of state.releaseRequests()) {
      if (!due.has(request.index)) continue;
      const { withinMs, by } = request;
      logger.info({ lock, sessionId: session, withinMs, by }, 'a lock was not released in time; it is revoked');
      const header = { command: CommandType.enforceRelease, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
      const command = { type: 'enforceRelease', lock, acquireIndex, request: request.index } as const;
      propose(encodeEntry(header, encodeCommand(command)));
    }
  }
}
