/** What a body is given: reads that are made at once, each behind a check, and writes that are sent together behind one. */

import { checkMs, invalid } from '@holdfast/fence/adapter';
import { runIn, Work, type Opened } from './call.ts';
import type { Argument } from './client.ts';
import type { Doing } from './errors.ts';
import { keyFrom } from './keys.ts';
import { behindCheck } from './scripts.ts';

export type RedisValue = string | number | Buffer;

export interface SetOptions {
  /** The key expires after so many milliseconds. @default never */
  readonly ttlMs?: number | undefined;
}

/** Keys and arguments of one command: Lua has a stack for 8,000. */
const MAX_ARGUMENTS = 7_000;
/** Queued ones: the server does nothing else while it runs them. */
const MAX_COMMANDS = 10_000;

export class RedisTransaction {
  readonly #call: Opened;
  readonly #queued = new Work();
  #over = false;

  /** @internal */
  constructor(call: Opened) {
    this.#call = call;
  }

  /** The value of a key now, or null. */
  async get(key: string): Promise<string | null> {
    const reply = await this.#now('read', 'GET', [key], []);
    return typeof reply === 'string' || Buffer.isBuffer(reply) ? reply.toString() : null;
  }

  /**
   * Runs any command now, in one script with the check, and returns its reply. Keys come first, as in almost all commands. Texts are UTF-8.
   *
   * @example
   * const job = await tx.call('HGETALL', ['{jobs}:42']); // ['state', 'ready']
   */
  async call(command: string, keys: readonly string[], args: readonly RedisValue[] = []): Promise<unknown> {
    return await this.#now('write', command, keys, args);
  }

  /**
   * Runs a Lua script of yours now, in one script with the check, and returns its reply. Its KEYS and ARGV are those given here. Servers keep the
   * text of every script, so pass values by `args` and not in it.
   *
   * @example
   * const left = await tx.eval("return redis.call('DECRBY', KEYS[1], ARGV[1])", ['{stock}:7'], [3]);
   */
  async eval(lua: string, keys: readonly string[], args: readonly RedisValue[] = []): Promise<unknown> {
    if (typeof lua !== 'string') throw invalid(`a script is a text of Lua, such as ${EXAMPLE}`);
    const work = this.#alone('EVAL', keys, args);
    // Its arguments stand behind the check as they are.
    work.args.splice(0, HEAD);
    return (await runIn(this.#call, 'write', behindCheck(this.#call.scripts.check, lua), work))[0] ?? null;
  }

  /** Queues a write: `SET key value`. */
  set(key: string, value: RedisValue, { ttlMs }: SetOptions = {}): void {
    if (ttlMs !== undefined) checkMs('ttlMs', ttlMs, Number.MAX_SAFE_INTEGER);
    this.queue('SET', [key], ttlMs === undefined ? [value] : [value, 'PX', ttlMs]);
  }

  /** Queues a write: `DEL key …`. */
  del(...keys: readonly string[]): void {
    this.queue('DEL', keys);
  }

  /**
   * Queues any command. When the body has returned, the queued ones are done in their order and by one script with the check: all of them, or none
   * where the token is stale. Its reply is not given.
   *
   * @example
   * tx.queue('HSET', ['{jobs}:42'], ['state', 'running']);
   */
  queue(command: string, keys: readonly string[], args: readonly RedisValue[] = []): void {
    this.#assertOpen(command);
    if (this.#queued.names.length >= MAX_COMMANDS)
      throw invalid(`a transaction has at most ${MAX_COMMANDS} commands: split it`);
    add(this.#queued, command, keys, args);
  }

  /**
   * Nothing more is taken from now on.
   *
   * @internal
   */
  close(): void {
    this.#over = true;
  }

  /** @internal */
  async commit(): Promise<void> {
    this.close();
    const { scripts } = this.#call;
    if (this.#queued.names.length > 0) await runIn(this.#call, 'write', scripts.commands, this.#queued);
  }

  async #now(doing: Doing, name: string, keys: readonly string[], args: readonly RedisValue[]): Promise<unknown> {
    return (await runIn(this.#call, doing, this.#call.scripts.commands, this.#alone(name, keys, args)))[0];
  }

  #alone(name: string, keys: readonly string[], args: readonly RedisValue[]): Work {
    this.#assertOpen(name);
    const work = add(new Work(), name, keys, args);
    const queued = work.keys.find((key) => this.#queued.keys.includes(key));
    if (queued === undefined) return work;
    throw invalid(`${JSON.stringify(queued)} is queued to be written when the body has returned: use it before that`);
  }

  #assertOpen(name: string): void {
    if (this.#over) throw invalid(`the transaction is over, and ${name} was not sent: await every call in the body`);
  }
}

const EXAMPLE = '"return redis.call(\'GET\', KEYS[1])"';
/** Words in front of the arguments of a command: how many keys, how many arguments, its name. */
const HEAD = 3;

/** One command more, as the script takes it. */
function add(work: Work, name: unknown, keys: unknown, args: unknown): Work {
  if (typeof name !== 'string' || !/^[A-Za-z][\w.]*$/.test(name)) {
    const text = `${JSON.stringify(name)} is no command`;
    throw invalid(`${text}: pass its name, such as "HSET", and its keys and arguments apart`);
  }
  if (!Array.isArray(keys) || keys.length === 0)
    throw invalid(`the keys of ${name} are an array of at least one: they decide the server in a cluster`);
  if (!Array.isArray(args)) throw invalid(`the arguments of ${name} are an array`);
  const count = keys.length + args.length;
  if (count > MAX_ARGUMENTS)
    throw invalid(`${name} has ${count} keys and arguments, at most ${MAX_ARGUMENTS}: split it`);
  // All of it is checked before any of it is there.
  const [checked, words] = [keys.map(keyFrom), args.map((value: unknown) => argumentOf(name, value))];
  work.keys.push(...checked);
  work.args.push(String(keys.length), String(args.length), name, ...words);
  work.names.push(name);
  return work;
}

function argumentOf(name: string, value: unknown): Argument {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  throw invalid(`${String(value)} is no argument of ${name}: pass strings, finite numbers and Buffers`);
}
