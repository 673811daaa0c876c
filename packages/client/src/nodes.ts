/** The tree of nodes: ZooKeeper's data model, with the log index as zxid. Locks are queues of nodes under `/holdfast`, which is reserved. */

import { createMode, MAX_DATA_BYTES, pathProblem } from '@holdfast/protocol';
import type { Answer, Consistency, Query, Reply, Stat } from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, LimitExceededError } from './errors.ts';
import type { Asker } from './session/asker.ts';
import type { CallOptions } from './session/call.ts';
import { callQuery, type QueryOptions } from './session/channels/read-pipeline.ts';
import { callCommand } from './session/channels/request-pipeline.ts';
import type { Session } from './session/session.ts';

export interface CreateOptions extends CallOptions {
  /** Goes with this client's session. @default false */
  readonly ephemeral?: boolean;
  /** The ensemble appends a ten-digit counter of the parent to the name. @default false */
  readonly sequential?: boolean;
}

export interface VersionOptions extends CallOptions {
  /** The version that the node must have; BadVersionError otherwise. @default -1 (any) */
  readonly version?: number;
}

export interface ReadOptions extends QueryOptions {
  /**
   * `linearizable` costs a quorum round; `session` shows all that this client has seen; `local` whatever the server has.
   * @default 'linearizable', or 'local' for a stale operator's client
   */
  readonly consistency?: Consistency;
}

/** What may be asked of nodes without a session. */
export class NodeReads {
  readonly #asker: Asker;
  readonly #consistency: Consistency;

  /** @internal */
  constructor(asker: Asker, consistency: Consistency) {
    this.#asker = asker;
    this.#consistency = consistency;
  }

  /** Rejects with NotFoundError. */
  async get(path: string, options: ReadOptions = {}): Promise<{ readonly data: Uint8Array; readonly stat: Stat }> {
    checkPath(path);
    const answer = await this.#ask({ type: 'get', path }, `get ${path}`, options);
    if (answer.type !== 'get') throw unexpected('get', answer);
    // A copy: the answer's bytes are a view of the whole frame.
    return { data: new Uint8Array(answer.data), stat: answer.stat };
  }

  /** Undefined when there is no such node. */
  async exists(path: string, options: ReadOptions = {}): Promise<Stat | undefined> {
    checkPath(path);
    const answer = await this.#ask({ type: 'exists', path }, `exists ${path}`, options);
    if (answer.type !== 'exists') throw unexpected('exists', answer);
    return answer.stat;
  }

  /** The names of the direct children, sorted. Rejects with NotFoundError. */
  async children(
    path: string,
    options: ReadOptions = {},
  ): Promise<{ readonly names: readonly string[]; readonly stat: Stat }> {
    checkPath(path);
    const answer = await this.#ask({ type: 'children', path }, `children ${path}`, options);
    if (answer.type !== 'children') throw unexpected('children', answer);
    return { names: answer.names, stat: answer.stat };
  }

  #ask(query: Query, what: string, options: ReadOptions): Promise<Answer> {
    return callQuery(this.#asker.reads, query, what, {
      ...options,
      consistency: options.consistency ?? this.#consistency,
    });
  }
}

export class Nodes extends NodeReads {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    super(session, 'linearizable');
    this.#session = session;
  }

  /** Rejects with NodeExistsError, and with NotFoundError when the parent does not exist. */
  async create(
    path: string,
    data: Uint8Array | string = '',
    options: CreateOptions = {},
  ): Promise<{ readonly path: string; readonly stat: Stat }> {
    const { ephemeral = false, sequential = false } = options;
    checkPath(path, sequential);
    const command = { type: 'create', path, data: bytesOf(data), mode: createMode({ ephemeral, sequential }) } as const;
    const reply = await callCommand(this.#session.commands, command, `create ${path}`, options);
    if (reply.type !== 'created') throw unexpected('create', reply);
    return { path: reply.path, stat: reply.stat };
  }

  /** Rejects with NotFoundError and BadVersionError. */
  async set(path: string, data: Uint8Array | string, options: VersionOptions = {}): Promise<Stat> {
    checkPath(path);
    const command = { type: 'set', path, data: bytesOf(data), version: versionOf(options) } as const;
    const reply = await callCommand(this.#session.commands, command, `set ${path}`, options);
    if (reply.type !== 'changed') throw unexpected('set', reply);
    return reply.stat;
  }

  /** Rejects with NotFoundError, BadVersionError and NotEmptyError. */
  async delete(path: string, options: VersionOptions = {}): Promise<void> {
    checkPath(path);
    await callCommand(
      this.#session.commands,
      { type: 'delete', path, version: versionOf(options) },
      `delete ${path}`,
      options,
    );
  }
}

const encoder = new TextEncoder();

function bytesOf(data: Uint8Array | string): Uint8Array {
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
    throw new InvalidArgumentError('data must be text or a Uint8Array');
  }
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  if (bytes.length > MAX_DATA_BYTES) {
    throw new LimitExceededError(`data of ${bytes.length} bytes is over the limit of a node, ${MAX_DATA_BYTES}`);
  }
  return bytes;
}

function versionOf(options: VersionOptions): number {
  const { version = -1 } = options;
  if (!Number.isSafeInteger(version) || version < -1) {
    throw new InvalidArgumentError(`version is ${String(version)}; it must be a whole number, or -1 for any`);
  }
  return version;
}

function checkPath(path: string, sequential = false): void {
  const problem = typeof path === 'string' ? pathProblem(path, sequential) : 'is not text';
  if (problem !== undefined) throw new InvalidArgumentError(`path ${JSON.stringify(path)} ${problem}`);
}

function unexpected(what: string, answer: Answer | Reply): HoldfastError {
  return new HoldfastError(`${what} was answered with ${answer.type}; client and server do not match`, {
    code: 'UNSUPPORTED',
  });
}
