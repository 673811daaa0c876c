/** What a body is given: reads that are made at once, each behind a check, and writes that are sent together behind one. */

import { invalid } from '@holdfast/fence/adapter';
import { runIn, type Opened } from './call.ts';
import type { Argument } from './client.ts';
import type { Doing } from './errors.ts';
import { checkKey } from './keys.ts';
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

interface Command {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly Argument[];
}

export class RedisTransaction {
  readonly #call: Opened;
  readonly #queued: Command[] = [];
  readonly #written = new Set<string>();
  #over = false;

  /** @internal */
  constructor(call: Opened) {
    this.#call = call;
  }

  /** The value of a key now, or null. */
  async get(key: string): Promise<string | null> {
    const reply = await this.#now('read', commandOf('GET', [key], []));
    return typeof reply === 'string' || Buffer.isBuffer(reply) ? reply.toString() : null;
  }

  /**
   * Runs any command now, in one script with the check, and returns its reply. Keys come first, as in almost all commands. Texts are UTF-8.
   *
   * @example
   * const job = await tx.call('HGETALL', ['{jobs}:42']); // ['state', 'ready']
   */
  async call(command: string, keys: readonly string[], args: readonly RedisValue[] = []): Promise<unknown> {
    return await this.#now('write', commandOf(command, keys, args));
  }

  /**
   * Runs a Lua script of yours now, in one script with the check, and returns its reply. Its KEYS and ARGV are those given here. Servers keep the
   * text of every script, so pass values by `args` and not in it.
   *
   * @example
   * const left = await tx.eval("return redis.call('DECRBY', KEYS[1], ARGV[1])", ['{stock}:7'], [3]);
   */
  async eval(lua: string, keys: readonly string[], args: readonly RedisValue[] = []): Promise<unknown> {
    if (typeof lua !== 'string')
      throw invalid('a script is a text of Lua, such as "return redis.call(\'GET\', KEYS[1])"');
    const checked = commandOf('EVAL', keys, args);
    this.#assertNow(checked);
    const script = behindCheck(this.#call.scripts.check, lua);
    const [reply] = await runIn(this.#call, 'write', script, checked.keys, checked.args);
    return reply ?? null;
  }

  /** Queues a write: `SET key value`. */
  set(key: string, value: RedisValue, { ttlMs }: SetOptions = {}): void {
    if (ttlMs === undefined) return this.queue('SET', [key], [value]);
    if (!Number.isSafeInteger(ttlMs) || ttlMs < 1)
      throw invalid(`ttlMs is ${String(ttlMs)}; it is a whole number of milliseconds from 1`);
    return this.queue('SET', [key], [value, 'PX', ttlMs]);
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
    const checked = commandOf(command, keys, args);
    this.#assertOpen(checked.name);
    if (this.#queued.length >= MAX_COMMANDS)
      throw invalid(`a transaction has at most ${MAX_COMMANDS} commands: split it`);
    this.#queued.push(checked);
    for (const key of checked.keys) this.#written.add(key);
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
    if (this.#queued.length > 0) await this.#send('write', this.#queued);
  }

  async #now(doing: Doing, command: Command): Promise<unknown> {
    this.#assertNow(command);
    const [reply] = await this.#send(doing, [command]);
    return reply;
  }

  async #send(doing: Doing, commands: readonly Command[]): Promise<readonly unknown[]> {
    const keys = commands.flatMap((command) => command.keys);
    const names = commands.map(({ name }) => name);
    return await runIn(this.#call, doing, this.#call.scripts.commands, keys, encoded(commands), names);
  }

  #assertNow({ name, keys }: Command): void {
    this.#assertOpen(name);
    const queued = keys.find((key) => this.#written.has(key));
    if (queued === undefined) return;
    throw invalid(`${JSON.stringify(queued)} is queued to be written when the body has returned: use it before that`);
  }

  #assertOpen(name: string): void {
    if (this.#over) throw invalid(`the transaction is over, and ${name} was not sent: await every call in the body`);
  }
}

function commandOf(name: unknown, keys: unknown, args: unknown): Command {
  if (typeof name !== 'string' || !/^[A-Za-z][\w.]*$/.test(name)) {
    throw invalid(
      `${JSON.stringify(name)} is no command: pass its name, such as "HSET", and its keys and arguments apart`,
    );
  }
  if (!Array.isArray(keys) || keys.length === 0)
    throw invalid(`the keys of ${name} are an array of at least one: they decide the server in a cluster`);
  if (!Array.isArray(args)) throw invalid(`the arguments of ${name} are an array`);
  if (keys.length + args.length > MAX_ARGUMENTS)
    throw invalid(`${name} has ${keys.length + args.length} keys and arguments, at most ${MAX_ARGUMENTS}: split it`);
  for (const key of keys as readonly unknown[]) checkKey(key);
  return { name, keys: keys as readonly string[], args: args.map((value: unknown) => argumentOf(name, value)) };
}

function argumentOf(name: string, value: unknown): Argument {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  throw invalid(`${String(value)} is no argument of ${name}: pass strings, finite numbers and Buffers`);
}

function encoded(commands: readonly Command[]): readonly Argument[] {
  return commands.flatMap(({ name, keys, args }) => [String(keys.length), String(args.length), name, ...args]);
}
