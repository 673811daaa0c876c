/**
 * An ensemble without consensus: servers on simulated hosts that share one small state at once. It keeps the rules that clients rely on
 * (number order, remembered answers, who may hold a lock, grants in order) and records every message, so that tests see what was
 * sent; tests bend it by hooks. What the real servers do is tested with them.
 */

import {
  CommandType,
  commandName,
  decodeAttachRequest,
  decodeCommand,
  decodeLockName,
  LOCKS_PATH,
  type AdminAnswer,
  type Answer,
  type ClientMessage,
  type Command,
  type DeadlockStep,
  type EndReason,
  type LockDelay,
  type Operation,
  type Query,
  type Reply,
  type ServerMessage,
  type UnknownOperation,
  type WantedLock,
} from '@holdfast/protocol';
import { requestOf } from '../../src/locks/wanted.ts';
import type { ClientRuntime } from '../../src/session/session.ts';
import { FakeLocks, queueNodeName, queueNodePath, toAcquire, type Place } from './fake-locks.ts';
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

export interface Received {
  readonly server: number;
  readonly atMs: number;
  readonly message: ClientMessage;
}

const NO_DATA = new Uint8Array(0);
const NOT_HELD = { type: 'error', code: 'NOT_HELD', message: 'no such hold' } as const;

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
  /** What servers say of the kind of every lock; undefined for what it is. */
  lockKind: number | undefined;
  /** As before state version 4. */
  onlyMutexes = false;
  /** As before state version 5. */
  withoutOptions = false;
  /** Locks that it says are delayed. It does not keep them from anybody who waits. */
  readonly delays = new Map<string, LockDelay>();
  /** Watches hear of queue nodes. */
  showsQueues = false;
  /** What servers say of deadlocks; an acquire that is to end in one is answered with it, unless it is empty. */
  deadlock: readonly DeadlockStep[] = [];
  /** Whether it is told to who waits alone, and ends no acquire. */
  deadlockLasts = false;
  readonly #locks = new FakeLocks();

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
    return this.#locks.queue(lock);
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
    const acquires = this.#locks.of(id).map(toAcquire);
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
        if (query.path.startsWith(`${LOCKS_PATH}/`)) return this.#queueNodes(query.path);
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
        return { type: 'verify', token: this.#locks.find(query.acquireIndex, query.lock)?.token ?? 0 };
      case 'locks': {
        const names = this.#locks.names.filter((name) => name > query.after);
        const locks = names.slice(0, 1).map((lock) => ({ lock, holders: [], waiters: this.queue(lock).length - 1 }));
        return { type: 'locks', locks, more: names.length > 1 };
      }
      case 'lock': {
        const kind = this.lockKind ?? this.#locks.kindOf(query.lock);
        const delay = this.delays.get(query.lock);
        const delayed = delay === undefined ? {} : { delay };
        return { type: 'lock', queue: this.#locks.entries(query.lock), truncated: false, kind, ...delayed };
      }
      case 'deadlocks': {
        const deadlocks = this.deadlock.length === 0 || query.after > 0 ? [] : [{ steps: this.deadlock }];
        return { type: 'deadlocks', deadlocks, more: query.after === 0, skipped: query.after > 0 ? 2 : 0 };
      }
      case 'waitingFor':
        return { type: 'waitingFor', holders: [], before: 0, since: 1, deadlock: this.deadlock };
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
    const place = this.#locks.find(acquireIndex);
    if (place === undefined) throw new Error(`there is no acquire ${acquireIndex}`);
    this.index += 1;
    this.#takeAway(place);
  }

  /** A wait is ended to break that deadlock. */
  breakDeadlock(acquireIndex: number, deadlock: readonly DeadlockStep[]): void {
    const place = this.#locks.find(acquireIndex);
    if (place === undefined) throw new Error(`there is no acquire ${acquireIndex}`);
    this.index += 1;
    this.#remove([place]);
    const { lock, session } = place;
    const lost = { type: 'lost', index: this.index, lock, acquireIndex, reason: 'deadlock', deadlock } as const;
    this.sessions.get(session)?.send?.(lost);
  }

  endSession(id: number, reason: EndReason): void {
    const session = this.session(id);
    this.index += 1;
    this.sessions.delete(id);
    this.#remove(this.#locks.of(id));
    session.send?.({ type: 'ended', index: this.index, reason });
  }

  #apply(session: FakeSession, command: Command): Reply {
    switch (command.type) {
      case 'acquire':
        return this.#acquire(session, [command], command.wait);
      case 'acquireSeveral':
        return this.#acquire(session, command.locks, command.wait);
      case 'acquireWith':
        if (this.withoutOptions) return { type: 'error', code: 'UNSUPPORTED', message: 'it is not of state version 4' };
        if (command.abortInDeadlock && this.deadlock.length > 0 && !this.deadlockLasts)
          return { type: 'deadlock', steps: this.deadlock };
        return this.#acquire(session, command.locks, command.wait);
      case 'requestRelease': {
        const hold = this.#locks.find(command.acquireIndex, command.lock);
        if (hold === undefined || hold.token === 0) return notFound(command.lock);
        const { acquireIndex, withinMs, revokes } = command;
        this.askToRelease(hold, { acquireIndex, withinMs, revokes });
        return { type: 'done' };
      }
      case 'release':
      case 'cancel': {
        const place = this.#locks.find(command.acquireIndex, command.lock);
        if (place === undefined || (command.type === 'release' && place.token === 0)) return NOT_HELD;
        this.#remove([place]);
        return command.type === 'release' ? { type: 'done' } : { type: 'cancelled', token: place.token };
      }
      case 'downgrade': {
        const hold = this.#locks.find(command.acquireIndex, command.lock);
        if (hold === undefined || hold.token === 0) return NOT_HELD;
        if (!this.#locks.downgrade(hold))
          return { type: 'error', code: 'INVALID_ARGUMENT', message: 'it is held in no way that can be downgraded' };
        this.#grantPending();
        return { type: 'done' };
      }
      case 'revoke': {
        const place = this.#locks.find(command.acquireIndex, command.lock);
        const delayed = this.delays.get(command.lock)?.index === command.acquireIndex;
        if (place !== undefined) this.#takeAway(place);
        else if (delayed) this.delays.delete(command.lock);
        else return notFound(command.lock);
        return { type: 'revoked', index: this.index };
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
        this.#changed({ type: 'created', path: command.path });
        return { type: 'created', path: command.path, stat: statOf(command.data) };
      case 'set':
        if (!this.nodes.has(command.path)) return notFound(command.path);
        if (command.version > 0) return { type: 'error', code: 'BAD_VERSION', message: 'another version' };
        this.nodes.set(command.path, new Uint8Array(command.data));
        this.#changed({ type: 'changed', path: command.path });
        return { type: 'changed', stat: statOf(command.data) };
      case 'delete':
        if (!this.nodes.delete(command.path)) return notFound(command.path);
        this.#changed({ type: 'deleted', path: command.path });
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
      case 'endLockDelay':
      case 'enforceRelease':
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
  #changed(...changed: readonly Omit<FakeChange, 'index'>[]): void {
    const changes = changed.map((change) => ({ ...change, index: this.index }));
    this.#changes.push(...changes);
    for (const server of this.servers) server.tell(this.index, changes);
  }

  #acquire(session: FakeSession, wanted: readonly WantedLock[], wait: boolean): Reply {
    const parts = wanted.flatMap(({ lock, kind, parameters }) => {
      const asked = requestOf(kind, parameters);
      return asked === undefined ? [] : [{ lock, asked }];
    });
    const known = !this.onlyMutexes || (parts.length === 1 && parts[0]?.asked.type === 'mutex');
    if (!known || parts.length < wanted.length)
      return { type: 'error', code: 'UNSUPPORTED', message: 'it is not of state version 3' };
    const delay = parts.map(({ lock }) => this.delays.get(lock)).find((each) => each !== undefined);
    if (delay !== undefined && !wait)
      return { type: 'lockHeld', holder: { session: 0, label: '', token: delay.token, acquireIndex: 0 } };
    const reply = this.#locks.acquire(session.id, parts, wait, this.index);
    const place = reply.type === 'acquire' ? this.#locks.find(reply.acquireIndex) : undefined;
    const shown = place === undefined ? [] : nodesOf('created', place);
    if (place !== undefined && place.token !== 0) shown.push(...nodesOf('changed', place));
    this.#shown(shown);
    return reply;
  }

  askToRelease(
    { lock, session }: Pick<Place, 'lock' | 'session'>,
    request: { readonly acquireIndex: number; readonly withinMs: number; readonly revokes: boolean },
  ): void {
    this.sessions
      .get(session)
      ?.send?.({ type: 'release-requested', index: this.index, lock, ...request, by: 'operator' });
  }

  #takeAway(place: Place): void {
    this.#remove([place]);
    const { lock, session, acquireIndex } = place;
    this.sessions.get(session)?.send?.({ type: 'lost', index: this.index, lock, acquireIndex, reason: 'revoked' });
  }

  #remove(places: readonly Place[]): void {
    for (const place of places) this.#locks.remove(place);
    this.#grantPending(places.flatMap((place) => nodesOf('deleted', place)));
  }

  #grantPending(before: readonly QueueNode[] = []): void {
    const granted = this.#locks.grantPending(this.index);
    this.#shown([...before, ...granted.flatMap((place) => nodesOf('changed', place))]);
    for (const place of granted) {
      const { lock, acquireIndex, token, session } = place;
      const floor = this.#locks.floorOf(place);
      this.sessions.get(session)?.send?.({ type: 'granted', index: this.index, lock, acquireIndex, token, ...floor });
    }
  }

  #shown(nodes: readonly QueueNode[]): void {
    if (this.showsQueues && nodes.length > 0) this.#changed(...nodes);
  }

  #queueNodes(path: string): Answer {
    const lock = decodeLockName(path.slice(LOCKS_PATH.length + 1)) ?? '';
    const names = this.queue(lock).map(({ acquireIndex }) => queueNodeName(acquireIndex));
    return names.length === 0 ? notFound(path) : { type: 'children', names, stat: statOf(NO_DATA) };
  }

  /** A retried acquire is answered with the present state of its wait. */
  #present(reply: Reply): Reply {
    if (reply.type !== 'acquire') return reply;
    const place = this.#locks.find(reply.acquireIndex);
    if (place === undefined) return { type: 'error', code: 'NOT_HELD', message: 'granted and lost' };
    return { ...reply, token: place.token };
  }
}

export function isCommand(message: ClientMessage, name: keyof typeof CommandType): boolean {
  return message.type === 'request' && message.command === CommandType[name];
}

type QueueNode = Omit<FakeChange, 'index'>;

/** In the queue of each of its locks. */
function nodesOf(type: FakeChange['type'], place: Place): QueueNode[] {
  return place.parts.map(({ lock }) => ({ type, path: queueNodePath(lock, place) }));
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
