/**
 * An ensemble of one: encodes commands as a server would, applies them at the next index, and keeps what the state machine said.
 * Tests drive it by sessions; what every entry did stays readable in `outputs`.
 */

import {
  acquireCommand as askFor,
  acquireSeveralCommand,
  acquireWithCommand,
  CommandType,
  createMode,
  createModeOf,
  encodeCommand,
  LockKind,
  MUTEX,
  type Acquire,
  type AcquireOptions,
  type Answer,
  type Command,
  type CreateModeOptions,
  type LockRequest,
  type Operation,
  type Query,
  type Reply,
  type UnusedNode,
} from '@holdfast/protocol';
import {
  encodeEntry,
  LATEST_STATE_VERSION,
  stampEntry,
  StateMachine,
  type Output,
  type StateLimits,
  type StateMachineOptions,
} from '@holdfast/state';

export type OutputOf<T extends Output['type']> = Extract<Output, { type: T }>;
export type ReplyOf<T extends Reply['type']> = Extract<Reply, { type: T }>;

/** The server through which everything comes. */
export const SERVER = 7;

export class Solo {
  readonly machine: StateMachine;
  /** What the last entry did. */
  outputs: readonly Output[] = [];
  /** The wall clock of the leader. */
  wallMs = 1_000_000;
  #secrets = 0;

  constructor(limits: Partial<StateLimits> = {}, options: Pick<StateMachineOptions, 'hashKey' | 'versions'> = {}) {
    this.machine = new StateMachine({ ...options, limits });
  }

  get index(): number {
    return this.machine.appliedIndex;
  }

  apply(entry: Uint8Array, via = SERVER): readonly Output[] {
    stampEntry(entry, this.wallMs, via);
    this.outputs = this.machine.apply(this.index + 1, entry);
    return this.outputs;
  }

  /** Entries are applied by that version from here on. */
  raise(version = LATEST_STATE_VERSION): this {
    this.#propose({ type: 'raiseStateVersion', version });
    return this;
  }

  /** What the leader proposes when it has found these unused. */
  removeUnused(nodes: readonly UnusedNode[]): readonly Output[] {
    return this.#propose({ type: 'removeUnused', nodes });
  }

  /** What the leader proposes when a delay is over. */
  endLockDelay(lock: string, index: number): readonly Output[] {
    return this.#propose({ type: 'endLockDelay', lock, index });
  }

  /** What the leader proposes when the time of a request is over. */
  enforceRelease(lock: string, acquireIndex: number, request: number): readonly Output[] {
    return this.#propose({ type: 'enforceRelease', lock, acquireIndex, request });
  }

  #propose(command: Command): readonly Output[] {
    const header = { command: CommandType[command.type], generation: 0, session: 0, number: 0, ackedUpTo: 0 };
    return this.apply(encodeEntry(header, encodeCommand(command)));
  }

  noop(): void {
    this.machine.applyNoop(this.index + 1);
  }

  /** The hash of a new secret, the same in every run. */
  secret(): Uint8Array {
    this.#secrets += 1;
    const secret = new Uint8Array(32);
    new DataView(secret.buffer).setUint32(0, this.#secrets);
    return secret;
  }

  attach(options: { secret: Uint8Array; session?: number; timeoutMs?: number; label?: string }, via = SERVER): Reply {
    const { secret: secretHash, session = 0, timeoutMs = 10_000, label = '' } = options;
    const payload = encodeCommand({ type: 'attach', secretHash, session, timeoutMs, label });
    const header = { command: CommandType.attach, generation: 0, session: 0, number: 4_711, ackedUpTo: 0 };
    this.apply(encodeEntry(header, payload), via);
    return only(this.outputs, 'attached').reply;
  }

  /** A new session. */
  open(label = 'test'): SoloSession {
    const secret = this.secret();
    const attached = asReply(this.attach({ secret, label }), 'attached');
    return new SoloSession(this, attached.session, attached.generation, secret);
  }

  /** What the leader proposes when a session's time is over. */
  expire(session: number, generation = 1): readonly Output[] {
    return this.#propose({ type: 'expireSession', session, generation });
  }

  query<T extends Exclude<Query['type'], never>>(
    query: Extract<Query, { type: T }>,
  ): Extract<Answer, { type: T | 'error' }> {
    return this.machine.query(query) as Extract<Answer, { type: T | 'error' }>;
  }

  /** The answer of a query that must not fail. */
  ask<T extends Exclude<Query['type'], never>>(query: Extract<Query, { type: T }>): Extract<Answer, { type: T }> {
    const answer = this.machine.query(query);
    if (answer.type !== query.type) throw new Error(`${query.type}: ${JSON.stringify(answer)}`);
    return answer as Extract<Answer, { type: T }>;
  }

  /** `session@token` of holders and `session` of waiters, in queue order. */
  queue(lock: string): string[] {
    return this.ask({ type: 'lock', lock }).queue.map(({ session, token }) =>
      token === 0 ? `${session}` : `${session}@${token}`,
    );
  }
}

/** What a command names an acquire by. */
type Named = Pick<Acquire, 'lock' | 'acquireIndex'> & Partial<Acquire>;

export class SoloSession {
  readonly solo: Solo;
  readonly id: number;
  readonly secret: Uint8Array;
  generation: number;
  /** The number of the last command sent. */
  number = 0;
  /** What the next command acknowledges. */
  ackedUpTo = 0;

  constructor(solo: Solo, id: number, generation: number, secret: Uint8Array) {
    this.solo = solo;
    this.id = id;
    this.generation = generation;
    this.secret = secret;
  }

  /** The same session in another machine that has it. */
  in(solo: Solo): SoloSession {
    const same = new SoloSession(solo, this.id, this.generation, this.secret);
    same.number = this.number;
    same.ackedUpTo = this.ackedUpTo;
    return same;
  }

  /** The entry that a server would make of this command of this session. */
  entry(command: Command, number: number): Uint8Array {
    return this.rawEntry(CommandType[command.type], encodeCommand(command), number);
  }

  rawEntry(command: number, payload: Uint8Array, number: number): Uint8Array {
    const { id: session, generation, ackedUpTo } = this;
    const entry = encodeEntry({ command, generation, session, number, ackedUpTo }, payload);
    stampEntry(entry, 0, SERVER);
    return entry;
  }

  /** Sends the next command; whatever comes of it is in the outputs. */
  submit(command: Command): readonly Output[] {
    this.number += 1;
    return this.solo.apply(this.entry(command, this.number));
  }

  /** Sends the next command and takes its reply. */
  send(command: Command): Reply {
    this.submit(command);
    return only(this.solo.outputs, 'reply').reply;
  }

  /** Sends a command again under a number that it had. */
  resend(number: number, command: Command): Reply {
    return only(this.solo.apply(this.entry(command, number)), 'reply').reply;
  }

  attachAgain(): ReplyOf<'attached'> {
    const reply = asReply(this.solo.attach({ secret: this.secret, session: this.id }), 'attached');
    this.generation = reply.generation;
    return reply;
  }

  acquire(lock: string): Acquire {
    const { acquireIndex, token } = asReply(this.send(acquireCommand(lock)), 'acquire');
    return { lock, acquireIndex, token };
  }

  /** At once or later, of that kind. */
  acquireAs(lock: string, request: LockRequest, wait = true): Reply {
    return this.send(askFor(lock, request, wait));
  }

  /** All at once, each to be held alone unless it says otherwise. */
  acquireSeveral(
    locks: readonly (string | { readonly lock: string; readonly asked: LockRequest })[],
    wait = true,
  ): Reply {
    const wanted = locks.map((each) => (typeof each === 'string' ? { lock: each, asked: MUTEX } : each));
    return this.send(acquireSeveralCommand(wanted, wait));
  }

  /** The same with options; one lock or several. */
  acquireWith(
    locks: readonly (string | { readonly lock: string; readonly asked: LockRequest })[],
    { wait = true, lockDelayMs = 0, abortInDeadlock = false }: Partial<AcquireOptions> & { wait?: boolean },
  ): Reply {
    const wanted = locks.map((each) => (typeof each === 'string' ? { lock: each, asked: MUTEX } : each));
    return this.send(acquireWithCommand(wanted, wait, { lockDelayMs, abortInDeadlock }));
  }

  /** A lock that must not be refused, with a delay. */
  acquireDelayed(lock: string, lockDelayMs: number, asked: LockRequest = MUTEX): Acquire {
    const { acquireIndex, token } = asReply(this.acquireWith([{ lock, asked }], { lockDelayMs }), 'acquire');
    return { lock, acquireIndex, token };
  }

  revoke({ lock, acquireIndex }: Named): Reply {
    return this.send({ type: 'revoke', lock, acquireIndex });
  }

  /** One lock or several: the wait ends in a deadlock, unless the options say otherwise. */
  acquireOrEnd(
    locks: readonly (string | { readonly lock: string; readonly asked: LockRequest })[],
    options: Partial<AcquireOptions> & { wait?: boolean } = {},
  ): Reply {
    return this.acquireWith(locks, { abortInDeadlock: true, ...options });
  }

  requestRelease({ lock, acquireIndex }: Named, options: { withinMs?: number; revokes?: boolean } = {}): Reply {
    const { withinMs = 30_000, revokes = true } = options;
    return this.send({ type: 'requestRelease', lock, acquireIndex, withinMs, revokes });
  }

  downgrade({ lock, acquireIndex }: Named): Reply {
    return this.send({ type: 'downgrade', lock, acquireIndex });
  }

  release({ lock, acquireIndex }: Named): Reply {
    return this.send({ type: 'release', lock, acquireIndex });
  }

  cancel({ lock, acquireIndex }: Named): Reply {
    return this.send({ type: 'cancel', lock, acquireIndex });
  }

  create(path: string, options: { data?: string; ephemeral?: boolean; sequential?: boolean } = {}): Reply {
    const { data = '', ephemeral = false, sequential = false } = options;
    return this.send({ type: 'create', path, data: bytes(data), mode: createMode({ ephemeral, sequential }) });
  }

  /** Creates a node that must not fail; its path. */
  made(path: string, options: { data?: string; ephemeral?: boolean; sequential?: boolean } = {}): string {
    return asReply(this.create(path, options), 'created').path;
  }

  /** Of any kind; `data` undefined: without any. */
  createNode(path: string, options: CreateModeOptions & { data?: string; ttlMs?: number } = {}): Reply {
    return this.send(createNodeCommand(path, options));
  }

  transaction(operations: readonly Operation[]): Reply {
    return this.send({ type: 'transaction', operations });
  }

  /** The results of a transaction that must not fail. */
  done(operations: readonly Operation[]): readonly number[] {
    return asReply(this.transaction(operations), 'transaction').results;
  }

  set(path: string, data: string, version = -1): Reply {
    return this.send({ type: 'set', path, data: bytes(data), version });
  }

  delete(path: string, version = -1): Reply {
    return this.send({ type: 'delete', path, version });
  }

  /** Closes this session, or the one named. */
  close(session = 0): Reply {
    return this.send({ type: 'closeSession', session });
  }
}

export function createNodeCommand(
  path: string,
  options: CreateModeOptions & { data?: string; ttlMs?: number } = {},
): Extract<Command, { type: 'createNode' }> {
  const { data, ttlMs = 0 } = options;
  const mode = createModeOf({ ...options, ttl: ttlMs !== 0 });
  if (mode === undefined) throw new Error(`no node is of all these kinds: ${JSON.stringify(options)}`);
  return { type: 'createNode', path, data: data === undefined ? [] : [bytes(data)], mode, ttlMs };
}

/** The operations of a transaction. */
export const operation = {
  check: (path: string, version = -1): Operation => ({ type: 'check', path, version }),
  create: (path: string, options: CreateModeOptions & { data?: string; ttlMs?: number } = {}): Operation => ({
    ...createNodeCommand(path, options),
    type: 'create',
  }),
  set: (path: string, data?: string, version = -1): Operation => ({
    type: 'set',
    path,
    data: data === undefined ? [] : [bytes(data)],
    version,
  }),
  delete: (path: string, version = -1): Operation => ({ type: 'delete', path, version }),
};

export function acquireCommand(lock: string, wait = true): Command {
  return { type: 'acquire', lock, kind: LockKind.mutex, wait };
}

/** The one output of that type. */
export function only<T extends Output['type']>(outputs: readonly Output[], type: T): OutputOf<T> {
  const found = all(outputs, type);
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`one ${type} expected: ${JSON.stringify(outputs)}`);
  return first;
}

export function all<T extends Output['type']>(outputs: readonly Output[], type: T): OutputOf<T>[] {
  return outputs.filter((output): output is OutputOf<T> => output.type === type);
}

export function asReply<T extends Reply['type']>(reply: Reply, type: T): ReplyOf<T> {
  if (reply.type !== type) throw new Error(`${type} expected: ${JSON.stringify(reply)}`);
  return reply as ReplyOf<T>;
}

/** The code of an error reply or answer. */
export function codeOf(reply: Reply | Answer): string {
  return reply.type === 'error' ? reply.code : `no error but ${reply.type}`;
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function text(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}
