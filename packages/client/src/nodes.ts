/** The tree of nodes: ZooKeeper's data model, with the log index as zxid. Locks are queues of nodes under `/holdfast`, which is reserved. */

import { MAX_PAGE_ENTRIES } from '@holdfast/protocol';
import type { Answer, Command, Consistency, Query, Reply, Stat } from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, LimitExceededError } from './errors.ts';
import { checkOptionNames } from './option-names.ts';
import { askerOf, type AskingChannels } from './session/asker.ts';
import { CALL_OPTIONS, type CallOptions } from './session/call.ts';
import { callQuery, type QueryOptions } from './session/channels/read-pipeline.ts';
import { callCommand } from './session/channels/request-pipeline.ts';
import type { Session } from './session/session.ts';
import {
  checkPath,
  dataOf,
  kindOf,
  versionOf,
  type NodeData,
  type NodeKindOptions,
  type NodeVersionOption,
} from './tree/node-arguments.ts';
import { contentOf, type NodeContent } from './tree/node-content.ts';
import { callTransaction, type TransactionOperation, type TransactionOutcome } from './tree/transaction.ts';
import type { NodeWatch, WatchOptions } from './watches/node-watch.ts';
import { readAndWatch, type ReadAndWatchOptions } from './watches/read-and-watch.ts';
import { checkReadAndWatchOptions, checkWatchOptions } from './watches/watch-options.ts';

export interface CreateOptions extends CallOptions, NodeKindOptions {}

const CREATE_OPTIONS: Record<keyof CreateOptions, true> = {
  ephemeral: true,
  sequential: true,
  container: true,
  ttlMs: true,
  timeoutMs: true,
  signal: true,
};

export interface VersionOptions extends CallOptions, NodeVersionOption {}

export interface PageOptions extends ReadOptions {
  /** Names come after this one. @default '' (from the first on) */
  readonly after?: string;
  /** At most so many names, from 1 to 1,000. @default 1_000 */
  readonly limit?: number;
}

export interface ReadOptions extends QueryOptions {
  /**
   * `linearizable` costs a quorum round; `session` shows all that this client has seen; `local` whatever the server has.
   * @default 'linearizable', or 'local' for a stale operator's client
   */
  readonly consistency?: Consistency;
}

const VERSION_OPTIONS: Record<keyof VersionOptions, true> = { version: true, ...CALL_OPTIONS };
export const READ_OPTIONS: Record<keyof ReadOptions, true> = { consistency: true, onAnswer: true, ...CALL_OPTIONS };
const PAGE_OPTIONS: Record<keyof PageOptions, true> = { after: true, limit: true, ...READ_OPTIONS };

/** What may be asked of nodes without a session. */
export class NodeReads {
  readonly #asker: Pick<AskingChannels, 'reads'>;
  readonly #consistency: Consistency;

  /** @internal */
  constructor(asker: Pick<AskingChannels, 'reads'>, consistency: Consistency) {
    this.#asker = asker;
    this.#consistency = consistency;
  }

  /** Rejects with NotFoundError. */
  async get(path: string, options: ReadOptions = {}): Promise<NodeContent> {
    checkPath(path);
    checkReadOptions('get', options);
    const answer = await this.#ask({ type: 'get', path }, `get ${path}`, options);
    if (answer.type !== 'get') throw unexpected('get', answer);
    return contentOf(answer);
  }

  /** Undefined when there is no such node. */
  async exists(path: string, options: ReadOptions = {}): Promise<Stat | undefined> {
    checkPath(path);
    checkReadOptions('exists', options);
    const answer = await this.#ask({ type: 'exists', path }, `exists ${path}`, options);
    if (answer.type !== 'exists') throw unexpected('exists', answer);
    return answer.stat;
  }

  /**
   * The names of the direct children, sorted. Where they are too many for one answer, some 100,000, they are gathered page by page: what is
   * there throughout is listed, what comes or goes meanwhile may be or not, and `stat` is that of the last page. Rejects with NotFoundError.
   */
  async children(
    path: string,
    options: ReadOptions = {},
  ): Promise<{ readonly names: readonly string[]; readonly stat: Stat }> {
    checkPath(path);
    checkReadOptions('children', options);
    let answer: Answer;
    try {
      answer = await this.#ask({ type: 'children', path }, `children ${path}`, options);
    } catch (error) {
      if (error instanceof LimitExceededError) return await this.childrenByPages(path, options);
      throw error;
    }
    if (answer.type !== 'children') throw unexpected('children', answer);
    return { names: answer.names, stat: answer.stat };
  }

  /** Some of those names; `more`: there are others behind the last one. Rejects with NotFoundError. */
  async childrenPage(
    path: string,
    options: PageOptions = {},
  ): Promise<{ readonly names: readonly string[]; readonly more: boolean; readonly stat: Stat }> {
    checkReadOptions('childrenPage', options, PAGE_OPTIONS);
    const { after = '', limit = MAX_PAGE_ENTRIES, ...others } = options;
    checkPath(path);
    if (typeof after !== 'string') throw new InvalidArgumentError(`after is ${String(after)}; it must be a name`);
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_PAGE_ENTRIES)
      throw new InvalidArgumentError(`limit is ${limit}; it must be a whole number from 1 to ${MAX_PAGE_ENTRIES}`);
    const answer = await this.#ask({ type: 'childrenPage', path, after, limit }, `children ${path}`, others);
    if (answer.type !== 'childrenPage') throw unexpected('children', answer);
    return { names: answer.names, more: answer.more, stat: answer.stat };
  }

  /**
   * How many nodes are below that one, all at one moment. A server counts millions of them in turns, between which it goes on serving.
   * Rejects with NotFoundError.
   */
  async descendants(path: string, options: ReadOptions = {}): Promise<number> {
    checkPath(path);
    checkReadOptions('descendants', options);
    const answer = await this.#ask({ type: 'descendants', path }, `descendants ${path}`, options);
    if (answer.type !== 'descendants') throw unexpected('descendants', answer);
    return answer.count;
  }

  /**
   * Waits until this client has seen all that was answered to anybody before the call: reads of consistency `session` show that from
   * then on. Resolves with the index up to which it is so.
   */
  async sync(options: CallOptions = {}): Promise<number> {
    checkOptionNames('sync', options, CALL_OPTIONS);
    let index = 0;
    const onAnswer = (source: { readonly index: number }): void => {
      index = source.index;
    };
    await this.#ask({ type: 'exists', path: '/' }, 'sync', { ...options, consistency: 'linearizable', onAnswer });
    return index;
  }

  /** @internal */
  protected async childrenByPages(
    path: string,
    options: ReadOptions,
  ): Promise<{ readonly names: readonly string[]; readonly stat: Stat }> {
    const names: string[] = [];
    for (;;) {
      const page = await this.childrenPage(path, { ...options, after: names.at(-1) ?? '' });
      for (const name of page.names) names.push(name);
      if (!page.more) return { names, stat: page.stat };
    }
  }

  #ask(query: Query, what: string, options: ReadOptions): Promise<Answer> {
    return callQuery(this.#asker.reads, query, what, {
      ...options,
      consistency: options.consistency ?? this.#consistency,
    });
  }
}

export class Nodes extends NodeReads {
  readonly #present: () => Session;

  /** @internal `present`: the session that counts now. */
  constructor(present: () => Session) {
    super(askerOf(present), 'linearizable');
    this.#present = present;
  }

  get #session(): Session {
    return this.#present();
  }

  /** Rejects with NodeExistsError, and with NotFoundError when the parent does not exist. */
  async create(
    path: string,
    data: NodeData = '',
    options: CreateOptions = {},
  ): Promise<{ readonly path: string; readonly stat: Stat }> {
    checkOptionNames('create', options, CREATE_OPTIONS);
    checkPath(path, options.sequential);
    const { mode, ttlMs, early } = kindOf(options);
    const bytes = dataOf(data);
    const command: Command =
      early && bytes !== undefined
        ? { type: 'create', path, data: bytes, mode }
        : { type: 'createNode', path, data: bytes === undefined ? [] : [bytes], mode, ttlMs };
    const reply = await callCommand(this.#session.commands, command, `create ${path}`, options);
    if (reply.type !== 'created') throw unexpected('create', reply);
    return { path: reply.path, stat: reply.stat };
  }

  /** Rejects with NotFoundError and BadVersionError. */
  async set(path: string, data: NodeData, options: VersionOptions = {}): Promise<Stat> {
    checkOptionNames('set', options, VERSION_OPTIONS);
    checkPath(path);
    const bytes = dataOf(data);
    const version = versionOf(options);
    const command: Command =
      bytes === undefined ? { type: 'setNode', path, data: [], version } : { type: 'set', path, data: bytes, version };
    const reply = await callCommand(this.#session.commands, command, `set ${path}`, options);
    if (reply.type !== 'changed') throw unexpected('set', reply);
    return reply.stat;
  }

  /**
   * Tells what happens at a node, whether it exists or not, and with `recursive` at every node below it: each change once, in the order in
   * which it was made, and before this client reads it. Watches until the loop over it is left, whichever servers come and go.
   *
   * @example
   * for await (const event of client.nodes.watch('/config', { recursive: true })) console.log(event.type, event.path);
   * @throws InvalidArgumentError
   */
  watch(path: string, options: WatchOptions = {}): NodeWatch {
    checkPath(path);
    checkWatchOptions(options);
    return this.#session.watch(path, options);
  }

  /**
   * Reads a node and watches it, in one step: `events` tells each change behind `index`, at which the node was as it is given here. `node`
   * is undefined where there is none. Leave `events` when they are not wanted any more.
   *
   * @example
   * const { node, events } = await client.nodes.getAndWatch('/config');
   * apply(node?.data);
   * for await (const event of events) if (event.type !== 'children') apply((await client.nodes.get('/config')).data);
   */
  async getAndWatch(
    path: string,
    options: ReadAndWatchOptions = {},
  ): Promise<{ readonly node: NodeContent | undefined; readonly index: number; readonly events: NodeWatch }> {
    checkPath(path);
    checkReadAndWatchOptions('getAndWatch', options);
    const { answer, index, events } = await readAndWatch(this.#session, { type: 'get', path }, options);
    return { node: answer && contentOf(answer), index, events };
  }

  /**
   * The same of the names of the direct children, sorted; `stat` is undefined where there is no such node. Where the names are too many for one
   * answer, they are gathered page by page, as `children` does, while `events` tells already what changes meanwhile.
   */
  async childrenAndWatch(
    path: string,
    options: ReadAndWatchOptions = {},
  ): Promise<{
    readonly names: readonly string[];
    readonly stat: Stat | undefined;
    readonly index: number;
    readonly events: NodeWatch;
  }> {
    checkPath(path);
    checkReadAndWatchOptions('childrenAndWatch', options);
    const pages = async (): Promise<Extract<Answer, { type: 'children' }>> => {
      const { timeoutMs, signal } = options;
      const limits = { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(signal === undefined ? {} : { signal }) };
      return { type: 'children', ...(await this.childrenByPages(path, { ...limits, consistency: 'session' })) };
    };
    const { answer, index, events } = await readAndWatch(this.#session, { type: 'children', path }, options, pages);
    return { names: answer?.names ?? [], stat: answer?.stat, index, events };
  }

  /** Rejects with NotFoundError, BadVersionError and NotEmptyError. */
  async delete(path: string, options: VersionOptions = {}): Promise<void> {
    checkOptionNames('delete', options, VERSION_OPTIONS);
    checkPath(path);
    await callCommand(
      this.#session.commands,
      { type: 'delete', path, version: versionOf(options) },
      `delete ${path}`,
      options,
    );
  }

  /**
   * Does all operations at one index, or none: each sees what those before it did, and nobody sees some of it. At most 1 MiB, encoded.
   * Rejects with TransactionFailedError, which says because of which.
   *
   * @example
   * await nodes.transaction([check('/config', { version: 3 }), set('/config', 'new'), create('/log/', 'changed', { sequential: true })]);
   */
  async transaction(
    operations: readonly TransactionOperation[],
    options: CallOptions = {},
  ): Promise<TransactionOutcome> {
    checkOptionNames('transaction', options, CALL_OPTIONS);
    return await callTransaction(this.#session, operations, options);
  }
}

/** @throws InvalidArgumentError */
export function checkReadOptions(
  what: string,
  options: ReadOptions,
  known: Readonly<Record<string, true>> = READ_OPTIONS,
): void {
  checkOptionNames(what, options, known);
  const { consistency }: { readonly consistency?: unknown } = options;
  if (consistency === undefined || CONSISTENCIES.includes(consistency)) return;
  throw new InvalidArgumentError(
    `consistency is ${JSON.stringify(consistency)}; it must be 'linearizable', 'session' or 'local'`,
  );
}

const CONSISTENCIES: readonly unknown[] = ['linearizable', 'session', 'local'] satisfies Consistency[];

function unexpected(what: string, answer: Answer | Reply): HoldfastError {
  return new HoldfastError(`${what} was answered with ${answer.type}; client and server do not match`, {
    code: 'UNSUPPORTED',
  });
}
