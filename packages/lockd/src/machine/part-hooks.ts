/**
 * Notifies the parts of what happens, in their order. Who reports something is given this object before the parts exist; once they are
 * installed, every hook is a list of those that want to hear it, made once: what nobody listens to costs an empty loop.
 */

import type { ErrorCode } from '@holdfast/protocol';
import type { Entry, LogIndex, ReplicaStatus, ServerId } from '@holdfast/raft';
import { decodeEntryHeader, type Output } from '@holdfast/state';
import type { SessionClient } from '../port/session-client.ts';
import type { ConnectionLoss, Hook, ServerPart } from './server-part.ts';

type Listeners<Name extends Hook> = readonly NonNullable<ServerPart[Name]>[];

export class PartHooks {
  #statusChanged: Listeners<'statusChanged'> = [];
  #membersChanged: Listeners<'membersChanged'> = [];
  #connectionLost: Listeners<'connectionLost'> = [];
  #contactLost: Listeners<'contactLost'> = [];
  #halted: Listeners<'halted'> = [];
  #applied: Listeners<'applied'> = [];
  #reported: Listeners<'reported'> = [];
  #restoring: Listeners<'restoring'> = [];
  #restored: Listeners<'restored'> = [];
  #submissionsLost: Listeners<'submissionsLost'> = [];
  #entryRefused: Listeners<'entryRefused'> = [];
  #sessionsChanged: Listeners<'sessionsChanged'> = [];
  #clientBound: Listeners<'clientBound'> = [];
  #clientAttached: Listeners<'clientAttached'> = [];
  #clientClosed: Listeners<'clientClosed'> = [];
  #endOfTurn: Listeners<'endOfTurn'> = [];
  #flush: Listeners<'flush'> = [];
  #fail: Listeners<'fail'> = [];
  #stop: Listeners<'stop'> = [];

  /** Called once. Each hook is called in the order of the parts, but `stop`: who was there first stops last. */
  install(parts: readonly ServerPart[]): void {
    this.#statusChanged = listeners(parts, 'statusChanged');
    this.#membersChanged = listeners(parts, 'membersChanged');
    this.#connectionLost = listeners(parts, 'connectionLost');
    this.#contactLost = listeners(parts, 'contactLost');
    this.#halted = listeners(parts, 'halted');
    this.#applied = listeners(parts, 'applied');
    this.#reported = listeners(parts, 'reported');
    this.#restoring = listeners(parts, 'restoring');
    this.#restored = listeners(parts, 'restored');
    this.#submissionsLost = listeners(parts, 'submissionsLost');
    this.#entryRefused = listeners(parts, 'entryRefused');
    this.#sessionsChanged = listeners(parts, 'sessionsChanged');
    this.#clientBound = listeners(parts, 'clientBound');
    this.#clientAttached = listeners(parts, 'clientAttached');
    this.#clientClosed = listeners(parts, 'clientClosed');
    this.#endOfTurn = listeners(parts, 'endOfTurn');
    this.#flush = listeners(parts, 'flush');
    this.#fail = listeners(parts, 'fail');
    this.#stop = listeners(parts.toReversed(), 'stop');
  }

  statusChanged(status: ReplicaStatus): void {
    for (const notify of this.#statusChanged) notify(status);
  }

  membersChanged(): void {
    for (const notify of this.#membersChanged) notify();
  }

  connectionLost(peer: ServerId, loss: ConnectionLoss): void {
    for (const notify of this.#connectionLost) notify(peer, loss);
  }

  contactLost(): void {
    for (const notify of this.#contactLost) notify();
  }

  halted(): void {
    for (const notify of this.#halted) notify();
  }

  applied(entry: Entry, outputs: readonly Output[]): void {
    for (const notify of this.#applied) notify(entry, outputs);
    if (outputs.length === 1 && outputs[0]?.type === 'reply') return;
    for (const notify of this.#reported) notify(entry, outputs);
  }

  restoring(): void {
    for (const notify of this.#restoring) notify();
  }

  restored(index: LogIndex): void {
    for (const notify of this.#restored) notify(index);
  }

  submissionsLost(code: ErrorCode): void {
    for (const notify of this.#submissionsLost) notify(code);
  }

  entryRefused(entry: Uint8Array, code: ErrorCode): void {
    const header = decodeEntryHeader(entry);
    for (const ask of this.#entryRefused) if (ask(entry, header, code)) return;
  }

  sessionsChanged(): void {
    for (const notify of this.#sessionsChanged) notify();
  }

  clientBound(client: SessionClient): void {
    for (const notify of this.#clientBound) notify(client);
  }

  clientAttached(client: SessionClient): void {
    for (const notify of this.#clientAttached) notify(client);
  }

  clientClosed(client: SessionClient): void {
    for (const notify of this.#clientClosed) notify(client);
  }

  endOfTurn(): void {
    for (const end of this.#endOfTurn) end();
    for (const flush of this.#flush) flush();
  }

  fail(): void {
    for (const notify of this.#fail) notify();
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }
}

function listeners<Name extends Hook>(parts: readonly ServerPart[], name: Name): Listeners<Name> {
  const bound: unknown[] = parts.flatMap((part) => part[name]?.bind(part) ?? []);
  return bound as unknown as Listeners<Name>;
}
