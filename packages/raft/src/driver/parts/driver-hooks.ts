/**
 * Tells the parts of a driver what happens, in their order. Who has something to tell is given this object before the parts exist; once
 * they are installed, every hook is a list of those that want to hear it, made once.
 */

import type { Connection, ConnectionHandler } from '@holdfast/runtime';
import { invariant, type Entry, type ServerId, type WriteSeq } from '../../core/index.ts';
import type { ExpulsionVoice } from '../../peers/expulsion-tally.ts';
import type { PeerMeshEvents } from '../../peers/peer-mesh.ts';
import type { DriverPart, Hook } from './driver-part.ts';

type Listeners<Name extends Hook> = readonly NonNullable<DriverPart[Name]>[];

export class DriverHooks implements PeerMeshEvents {
  #connected: Listeners<'connected'> = [];
  #disconnected: Listeners<'disconnected'> = [];
  #unreachable: Listeners<'unreachable'> = [];
  #frame: Listeners<'frame'> = [];
  #snapshot: NonNullable<DriverPart['snapshot']> | undefined;
  #inboundClosed: Listeners<'inboundClosed'> = [];
  #handshakeDone: Listeners<'handshakeDone'> = [];
  #expelled: Listeners<'expelled'> = [];
  #notAdmitted: Listeners<'notAdmitted'> = [];
  #knocked: Listeners<'knocked'> = [];
  #turn: Listeners<'turn'> = [];
  #hasWork: Listeners<'hasWork'> = [];
  #persisted: Listeners<'persisted'> = [];
  #applying: Listeners<'applying'> = [];
  #endTurn: Listeners<'endTurn'> = [];
  #halt: Listeners<'halt'> = [];

  /** Called once, before the mesh and the schedule are started. Each hook is called in the order of the parts. */
  install(parts: readonly DriverPart[]): void {
    this.#connected = listeners(parts, 'connected');
    this.#disconnected = listeners(parts, 'disconnected');
    this.#unreachable = listeners(parts, 'unreachable');
    this.#frame = listeners(parts, 'frame');
    const receivers = parts.flatMap((part) => part.snapshot?.bind(part) ?? []);
    invariant(receivers.length === 1, 'one-part-receives-snapshots');
    [this.#snapshot] = receivers;
    this.#inboundClosed = listeners(parts, 'inboundClosed');
    this.#handshakeDone = listeners(parts, 'handshakeDone');
    this.#expelled = listeners(parts, 'expelled');
    this.#notAdmitted = listeners(parts, 'notAdmitted');
    this.#knocked = listeners(parts, 'knocked');
    this.#turn = listeners(parts, 'turn');
    this.#hasWork = listeners(parts, 'hasWork');
    this.#persisted = listeners(parts, 'persisted');
    this.#applying = listeners(parts, 'applying');
    this.#endTurn = listeners(parts, 'endTurn');
    this.#halt = listeners(parts, 'halt');
  }

  connected(peer: ServerId): void {
    for (const notify of this.#connected) notify(peer);
  }

  disconnected(peer: ServerId): void {
    for (const notify of this.#disconnected) notify(peer);
  }

  unreachable(peer: ServerId): void {
    for (const notify of this.#unreachable) notify(peer);
  }

  frame(from: ServerId, connection: Connection, frame: Uint8Array): void {
    for (const notify of this.#frame) notify(from, connection, frame);
  }

  snapshot(from: ServerId, connection: Connection): ConnectionHandler {
    invariant(this.#snapshot !== undefined, 'parts-are-installed-before-peers-are-heard');
    return this.#snapshot(from, connection);
  }

  inboundClosed(peer: ServerId): void {
    for (const notify of this.#inboundClosed) notify(peer);
  }

  handshakeDone(): void {
    for (const notify of this.#handshakeDone) notify();
  }

  expelled(voice: ExpulsionVoice): void {
    for (const notify of this.#expelled) notify(voice);
  }

  notAdmitted(peer: ServerId, reason: string): void {
    for (const notify of this.#notAdmitted) notify(peer, reason);
  }

  knocked(server: ServerId): void {
    for (const notify of this.#knocked) notify(server);
  }

  turn(): void {
    for (const take of this.#turn) take();
  }

  hasWork(): boolean {
    for (const has of this.#hasWork) if (has()) return true;
    return false;
  }

  persisted(seq: WriteSeq): void {
    for (const notify of this.#persisted) notify(seq);
  }

  applying(entry: Entry): void {
    for (const notify of this.#applying) notify(entry);
  }

  endTurn(beganAtMs: number): void {
    for (const end of this.#endTurn) end(beganAtMs);
  }

  halt(): void {
    for (const halt of this.#halt) halt();
  }
}

function listeners<Name extends Hook>(parts: readonly DriverPart[], name: Name): Listeners<Name> {
  const bound: unknown[] = parts.flatMap((part) => part[name]?.bind(part) ?? []);
  return bound as unknown as Listeners<Name>;
}
