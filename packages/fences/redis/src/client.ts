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

interface ScriptArguments {
  keys: string[];
  arguments: Argument[];
}

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
export async function runScript(
  client: RedisClient,
  { text, sha1 }: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<readonly unknown[]> {
  const options = { keys: [...keys], arguments: [...args] };
  let reply: unknown;
  try {
    reply = await ('evalSha' in client
      ? client.evalSha(sha1, options)
      : client.evalsha(sha1, keys.length, ...keys, ...args));
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    reply = await ('evalSha' in client ? client.eval(text, options) : client.eval(text, keys.length, ...keys, ...args));
  }
  if (Array.isArray(reply)) return reply as readonly unknown[];
  throw invalid(`the first argument gave no reply to a script: pass ${CLIENTS}, and no pipeline`);
}
