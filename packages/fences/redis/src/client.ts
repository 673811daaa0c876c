/** What this package needs of a client: the two commands that run scripts, in either spelling. Both route a script by its keys in a cluster. */

import { invalid } from '@holdfast/fence/adapter';
import { createHash } from 'node:crypto';

export type Argument = string | Buffer;

/** `Redis` and `Cluster` of ioredis. */
export interface IoredisClient {
  evalsha(sha1: string, keys: number, ...args: Argument[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: Argument[]): Promise<unknown>;
}

/** What `createClient` and `createCluster` of node-redis give. */
export interface NodeRedisClient {
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
}

type ScriptArguments = { keys: string[]; arguments: Argument[] };
/** What all scripts of this package reply: how it went, and what comes of it. */
export type Replies = readonly unknown[];

export type RedisClient = IoredisClient | NodeRedisClient;

export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export function scriptOf(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkClient(client: unknown): asserts client is RedisClient {
  const is = typeof client === 'object' && client !== null && 'eval' in client && typeof client.eval === 'function';
  if (is && ('evalSha' in client || 'evalsha' in client)) return;
  throw invalid(`the first argument is the client of the application: ${CLIENTS}`);
}

const CLIENTS = 'a Redis or Cluster of ioredis, or what createClient or createCluster of redis gives';

/** The whole text is sent only where the server does not have it, in which case it has not run. */
export async function runScript(on: RedisClient, script: Script, keys: string[], args: Argument[]): Promise<Replies> {
  const options = { keys, arguments: args };
  let reply: unknown;
  try {
    reply = await ('evalSha' in on
      ? on.evalSha(script.sha1, options)
      : on.evalsha(script.sha1, keys.length, ...keys, ...args));
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    const { text } = script;
    reply = await ('evalSha' in on ? on.eval(text, options) : on.eval(text, keys.length, ...keys, ...args));
  }
  if (Array.isArray(reply)) return reply as Replies;
  throw invalid(`the first argument gave no reply to a script: pass ${CLIENTS}, and no pipeline`);
}
