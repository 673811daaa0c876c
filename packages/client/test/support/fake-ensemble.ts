/**
 * An ensemble without consensus: servers on simulated hosts that share one small state at once. It keeps the rules that clients rely on
 * (number order, remembered answers, one holder a lock, grants in order) and records every message, so that tests see what was
 * sent; tests bend it by hooks. What the real servers do is tested with them.
 */

import {
  CommandType,
  commandName,
  decodeAttachRequest,
  decodeCommand,
  type Acquire,
  type AdminAnswer,
  type Answer,
  type ClientMessage,
  type Command,
  type LossReason,
  type Operation,
  type Query,
  type Reply,
  type ServerMessage,
  type UnknownOperation,
} from '@holdfast/protocol';
import type { ClientRuntime } from '../../src/session/session.ts';
import { FakeServer } from './fake-server.ts';
import type { FakeChange, Past } from './fake-watches.ts';

/** Where the servers run. */
export interface FakeWorld<Host extends FakeHost = FakeHost> {
  host(name: string): Host;
  /** After everything of the present turn. */
  soon(run: () => void): void;
}

export interface FakeHost {
  readonly address: string;
  readonly runtime: ClientRuntime;
}

export interface FakeSession {
  readonly id: number;
  readonly secret: string;
  readonly timeoutMs: number;
  generation: number;
  lastApplied: number;
  readonly replies: Map<number, { readonly index: number; readonly reply: Reply }>;
  /** The attached connection. */
  send: ((message: ServerMessage) => void) | undefined;
}

interface Place {
  readonly lock: string;
  readonly session: number;
  readonly acquireIndex: number;
  token: number;
}

export interface Received {
  readonly server: number;
  readonly atMs: number;
  readonly message: ClientMessage;
}

const NO_DATA = new Uint8Array(0);

export class FakeEnsemble<Host extends FakeHost = FakeHost> {
  readonly world: FakeWorld<Host>;
  readonly servers: FakeServer<Host>[] = [];
  readonly sessions = new Map<number, FakeSession>();
  /** Everything that any server received, in order. */
  readonly received: Received[] = [];
  /** Every command that took effect: its session, its number and what it was. */
  readonly applied: { readonly session: number; readonly number: number; readonly command: Command }[] = [];
  readonly nodes = new Map<string, Uint8Array>();
  readonly #changes: FakeChange[] = [];
  leader = 1;
  /** Rises when `setLeader` is called. */
  term = 1;
  /** What servers say of the time over which clients should spread. */
  spreadMs = 0;
  index = 100;
  /** Children that one answer may have. */
  pageEntries = 1_000;
  /** What nodes were made with, beside their data. */
  readonly modes: { readonly path: string; readonly mode: number; readonly ttlMs: number }[] = [];
  /** What servers say of the kind of every lock. */
  lockKind = 0;
  #places: Place[] = [];

  constructor(world: FakeWorld<Host>) {
    this.world = world;
  }

  static async start<Host extends FakeHost>(world: FakeWorld<Host>, size = 3): Promise<FakeEnsemble<Host>> {
    const ensemble = new FakeEnsemble<Host>(world);
    for (let id = 1; id <= size; id += 1) ensemble.servers.push(await FakeServer.start(ensemble, id));
    return ensemble;
  }

  /** What has happened to nodes. */
  get past(): Omit<Past, 'begin'> {
    return {
      index: this.index,
      changes: this.#changes,
      exists: (path) => path === '/' || this.nodes.has(path),
      query: (query) => this.query(query),
    };
  }

  get addresses(): string[] {
    return this.servers.map((server) => server.address);
  }

  get members(): { server: number; clientAddress: string }[] {
    return this.servers.map((server) => ({ server: server.id, clientAddress: server.address }));
  }

  /** What operators are told of the members. */
  get memberList(): Extract<AdminAnswer, { type: 'members' }> {
    const { leader, index } = this;
    const member = (server: FakeServer<Host>) => ({
      server: server.id,
      role: 'voter' as const,
      peerAddress: `peer-${server.id}:1`,
      clientAddress: server.address,
      connected: true,
    });
    return { type: 'members', leader, index, members: this.servers.map(member) };
  }

  server(id: number): FakeServer<Host> {
    const server = this.servers[id - 1];
    if (server === undefined) throw new Error(`there is no server ${id}`);
    return server;
  }

  /** The server at which that session is attached. */
  serverOf(session: number): FakeServer<Host> {
    const server = this.servers.find((candidate) => candidate.attachedSessions.includes(session));
    if (server === undefined) throw new Error(`session ${session} is attached nowhere`);
    return server;
  }

  session(id: number): FakeSession {
    const session = this.sessions.get(id);
    if (session === undefined) throw new Error(`there is no session ${id}`);
    return session;
  }

  requests(): {
    readonly number: number;
    readonly command: string;
    readonly server: number;
    readonly ackedUpTo: number;
  }[] {
    return this.received.flatMap(({ message, server }) =>
      message.type === 'request'
        ? [
            {
              number: message.number,
              command: commandName(message.command) ?? '?',
              server,
              ackedUpTo: message.ackedUpTo,
            },
          ]
        : [],
    );
  }

  count(type: ClientMessage['type']): number {
    return this.received.filter(({ message }) => message.type === type).length;
  }

  queue(lock: string): readonly Place[] {
    return this.#places.filter((place) => place.lock === lock);
  }

  setLeader(leader: number): void {
    this.leader = leader;
    this.term += 1;
    const { members, term, spreadMs } = this;
    for (const server of this.servers) server.broadcast({ type: 'leader', leader, members, term, spreadMs });
  }

  attach(
    payload: Uint8Array,
    send: (message: ServerMessage) => void,
  ): { readonly reply: Reply; readonly session: FakeSession | undefined } {
    const command = decodeAttachRequest(payload);
    const secret = Buffer.from(command.secret).toString('hex');
    let session = [...this.sessions.values()].find((candidate) => candidate.secret === secret);
    if (session === undefined && command.session !== 0) {
      return {
        reply: { type: 'error', code: 'SESSION_EXPIRED', message: 'the session has ended' },
        session: undefined,
      };
    }
    this.index += 1;
    if (session === undefined) {
      session = {
        id: this.index,
        secret,
        timeoutMs: command.timeoutMs,
        generation: 0,
        lastApplied: 0,
        replies: new Map(),
        send: undefined,
      };
      this.sessions.set(session.id, session);
    }
    session.generation += 1;
    session.send?.({ type: 'goodbye', code: 'SESSION_MOVED', message: 'attached elsewhere' });
    session.send = send;
    const { id, generation, timeoutMs, lastApplied } = session;
    const acquires = this.#places.filter((place) => place.session === id).map(toAcquire);
    return { reply: { type: 'attached', session: id, generation, timeoutMs, lastApplied, acquires }, session };
  }

  /** Applies in number order and exactly once; undefined for a gap. */
  request(
    session: FakeSession,
    message: Extract<ClientMessage, { type: 'request' }>,
  ): { index: number; reply: Reply } | undefined {
    if (message.number > session.lastApplied + 1) return undefined;
    this.index += 1;
    if (message.number <= session.lastApplied) {
      const remembered = session.replies.get(message.number);
      if (remembered === undefined) throw new Error(`request ${message.number} was acknowledged and came again`);
      return { index: this.index, reply: this.#present(remembered.reply) };
    }
    const name = commandName(message.command);
    if (name === undefined) throw new Error(`command ${message.command} is unknown`);
    const command = decodeCommand(name, message.payload);
    const { index } = this;
    const reply = this.#apply(session, command);
    session.lastApplied = message.number;
    session.replies.set(message.number, { index, reply });
    for (const number of session.replies.keys()) {
      if (number <= message.ackedUpTo) session.replies.delete(number);
    }
    this.applied.push({ session: session.id, number: message.number, command });
    return { index, reply };
  }

  query(query: Query): Answer {
    switch (query.type) {
      case 'get': {
        const data = this.nodes.get(query.path);
        return data === undefined ? notFound(query.path) : { type: 'get', data, stat: statOf(data) };
      }
      case 'exists': {
        const data = this.nodes.get(query.path);
        return { type: 'exists', stat: data && statOf(data) };
      }
      case 'children':
        if (this.nodes.size > this.pageEntries) return { type: 'error', code: 'LIMIT_EXCEEDED', message: 'too many' };
        return {
          type: 'children',
          names: [...this.nodes.keys()].map((path) => path.slice(1)).sort(),
          stat: statOf(new Uint8Array()),
        };
      case 'childrenPage': {
        const names = [...this.nodes.keys()].map((path) => path.slice(1)).sort();
        const rest = names.filter((name) => name > query.after);
        const page = rest.slice(0, Math.min(query.limit, this.pageEntries));
        return { type: 'childrenPage', names: page, more: rest.length > page.length, stat: statOf(NO_DATA) };
      }
      case 'descendants':
        return { type: 'descendants', count: this.nodes.size };
      case 'verify':
        return {
          type: 'verify',
          token: this.#places.find((place) => place.acquireIndex === query.acquireIndex)?.token ?? 0,
        };
      case 'locks': {
        const names = [...new Set(this.#places.map((place) => place.lock))].sort().filter((name) => name > query.after);
        const locks = names.slice(0, 1).map((lock) => ({ lock, holders: [], waiters: this.queue(lock).length - 1 }));
        return { type: 'locks', locks, more: names.length > 1 };
      }
      case 'lock': {
        const queue = this.queue(query.lock).map((place) => ({
          ...toHolder(place),
          since: 1,
          grantedAt: place.token === 0 ? 0 : 2,
        }));
        return { type: 'lock', queue, truncated: false, kind: this.lockKind };
      }
      case 'sessions': {
        const rest = [...this.sessions.values()].filter((session) => session.id > query.after);
        const sessions = rest.slice(0, 1).map(({ id, timeoutMs }) => ({
          session: id,
          label: '',
          timeoutMs,
          createdAt: 1,
          holds: 0,
          waits: 0,
          ephemerals: 0,
        }));
        return { type: 'sessions', sessions, more: rest.length > 1 };
      }
    }
  }

  /** An operator deletes the queue node. */
  revoke(acquireIndex: number): void {
    const place = this.#places.find((candidate) => candidate.acquireIndex === acquireIndex);
    if (place === undefined) throw new Error(`there is no acquire ${acquireIndex}`);
    this.index += 1;
    const { lock, session } = place;
    this.#remove(place);
    this.sessions.get(session)?.send?.({ type: 'lost', index: this.index, lock, acquireIndex, reason: 'revoked' });
  }

  endSession(id: number, reason: LossReason): void {
    const session = this.session(id);
    this.index += 1;
    this.sessions.delete(id);
    for (const place of this.#places.filter((candidate) => candidate.session === id)) this.#remove(place);
    session.send?.({ type: 'ended', index: this.index, reason });
  }

  #apply(session: FakeSession, command: Command): Reply {
    switch (command.type) {
      case 'acquire': {
        const holder = this.queue(command.lock)[0];
        if (holder !== undefined && !command.wait) return { type: 'lockHeld', holder: toHolder(holder) };
        const token = holder === undefined ? this.index : 0;
        this.#places.push({ lock: command.lock, session: session.id, acquireIndex: this.index, token });
        return { type: 'acquire', acquireIndex: this.index, token };
      }
      case 'release':
      case 'cancel': {
        const place = this.#places.find((candidate) => candidate.acquireIndex === command.acquireIndex);
        if (place === undefined || (command.type === 'release' && place.token === 0)) {
          return { type: 'error', code: 'NOT_HELD', message: 'no such hold' };
        }
        this.#remove(place);
        return command.type === 'release' ? { type: 'done' } : { type: 'cancelled', token: place.token };
      }
      case 'closeSession':
        if (command.session !== 0 && !this.sessions.has(command.session)) return notFound(String(command.session));
        this.world.soon(() =>
          this.endSession(command.session || session.id, command.session === 0 ? 'closed' : 'revoked'),
        );
        return { type: 'done' };
      case 'create':
        if (this.nodes.has(command.path)) return { type: 'error', code: 'NODE_EXISTS', message: 'there is one' };
        this.nodes.set(command.path, new Uint8Array(command.data));
        this.#changed('created', command.path);
        return { type: 'created', path: command.path, stat: statOf(command.data) };
      case 'set':
        if (!this.nodes.has(command.path)) return notFound(command.path);
        if (command.version > 0) return { type: 'error', code: 'BAD_VERSION', message: 'another version' };
        this.nodes.set(command.path, new Uint8Array(command.data));
        this.#changed('changed', command.path);
        return { type: 'changed', stat: statOf(command.data) };
      case 'delete':
        if (!this.nodes.delete(command.path)) return notFound(command.path);
        this.#changed('deleted', command.path);
        return { type: 'done' };
      case 'createNode':
        this.modes.push({ path: command.path, mode: command.mode, ttlMs: command.ttlMs });
        return this.#apply(session, { ...command, type: 'create', data: command.data[0] ?? NO_DATA });
      case 'setNode':
        return this.#apply(session, { ...command, type: 'set', data: command.data[0] ?? NO_DATA });
      case 'transaction':
        return this.#transaction(session, command.operations);
      case 'attach':
      case 'expireSession':
      case 'refuse':
      case 'raiseStateVersion':
      case 'continueEnd':
      case 'removeUnused':
        throw new Error(`${command.type} came as a request`);
    }
  }

  #transaction(session: FakeSession, operations: readonly (Operation | UnknownOperation)[]): Reply {
    const before = new Map(this.nodes);
    const results: number[] = [];
    for (const [place, operation] of operations.entries()) {
      if (operation.type === 'unknown') throw new Error('an operation is unknown');
      const reply = this.#operation(session, operation);
      if (reply.type === 'error') {
        this.nodes.clear();
        for (const [path, data] of before) this.nodes.set(path, data);
        return { ...reply, type: 'transactionFailed', operation: place };
      }
      results.push(reply.type === 'changed' ? 1 : 0);
    }
    return { type: 'transaction', index: this.index, results };
  }

  #operation(session: FakeSession, operation: Operation): Reply {
    if (operation.type === 'check') return this.nodes.has(operation.path) ? { type: 'done' } : notFound(operation.path);
    if (operation.type === 'create') return this.#apply(session, { ...operation, type: 'createNode' });
    return this.#apply(session, operation.type === 'set' ? { ...operation, type: 'setNode' } : operation);
  }

  /** Who watches hears of it before its reply leaves. */
  #changed(type: FakeChange['type'], path: string): void {
    const change = { index: this.index, type, path };
    this.#changes.push(change);
    for (const server of this.servers) server.tell(change);
  }

  #remove(place: Place): void {
    this.#places = this.#places.filter((other) => other !== place);
    const next = this.queue(place.lock)[0];
    if (next === undefined || next.token !== 0) return;
    next.token = this.index;
    const { lock, acquireIndex, token, session } = next;
    this.sessions.get(session)?.send?.({ type: 'granted', index: this.index, lock, acquireIndex, token });
  }

  /** A retried acquire is answered with the present state of its wait. */
  #present(reply: Reply): Reply {
    if (reply.type !== 'acquire') return reply;
    const place = this.#places.find((candidate) => candidate.acquireIndex === reply.acquireIndex);
    if (place === undefined) return { type: 'error', code: 'NOT_HELD', message: 'granted and lost' };
    return { ...reply, token: place.token };
  }
}

export function isCommand(message: ClientMessage, name: keyof typeof CommandType): boolean {
  return message.type === 'request' && message.command === CommandType[name];
}

function toAcquire({ lock, acquireIndex, token }: Place): Acquire {
  return { lock, acquireIndex, token };
}

function toHolder({ session, acquireIndex, token }: Place) {
  return { session, label: '', acquireIndex, token };
}

function notFound(what: string): { type: 'error'; code: 'NOT_FOUND'; message: string } {
  return { type: 'error', code: 'NOT_FOUND', message: `${what} does not exist` };
}

function statOf(data: Uint8Array) {
  return {
    czxid: 1,
    mzxid: 1,
    pzxid: 1,
    ctime: 1,
    mtime: 1,
    version: 0,
    cversion: 0,
    aversion: 0,
    ephemeralOwner: 0,
    dataLength: data.length,
    numChildren: 0,
  };
}
