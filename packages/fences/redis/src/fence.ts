/** acquire → install → read → write, on Redis and Valkey. */

import { checkScope, type Holder } from '@holdfast/fence';
import { checkBody, told, withLimit } from '@holdfast/fence/adapter';
import { isInstalled, runIn, type Opened } from './call.ts';
import { checkClient, runScript, type RedisClient, type Replies, type Script } from './client.ts';
import { asFenceError } from './errors.ts';
import { fenceKey } from './keys.ts';
import { HIGHEST, INFO, repliesOf, SCRIPTS } from './scripts.ts';
import { RedisTransaction } from './transaction.ts';

export interface FenceOptions {
  /** Ends the call, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds each script is waited for. Clients queue commands while there is no connection, and may send a write later than
   * that: then it is refused if a newer holder has come, and otherwise done. @default 10,000
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs `body`, and does what it has queued by one script that checks the token first: all of it, or none where a newer holder has been. Returns what
 * the body returns. The first call of a holder installs its token before the body is run.
 *
 * Redis does not roll back: where a queued command fails (WRONGTYPE), those before it were done, and the error says so.
 *
 * Rejects with StaleTokenError where a newer holder has been; with FenceError of the code ABORTED where `holder.signal` or `options.signal` aborted;
 * CONNECTION and TIMEOUT (`indeterminate` where the answer to a write is lost); RESOURCE where the server refused a command; SCHEMA_VERSION,
 * INVALID_ARGUMENT; and with what the body and `holder.assertHeld` throw.
 *
 * @example
 * await fence(redis, 'jobs', held, async (tx) => {
 *   const count = Number(await tx.get('{jobs}:count'));
 *   tx.set('{jobs}:count', count + 1);
 *   tx.queue('HSET', [`{jobs}:${count}`], ['state', 'running']);
 * });
 */
export async function fence<Result>(
  redis: RedisClient,
  scope: string,
  holder: Holder,
  body: (tx: RedisTransaction) => Promise<Result>,
  options: FenceOptions = {},
): Promise<Result> {
  return await fenceBy({ scripts: SCRIPTS, redis, scope, holder, options }, body);
}

/**
 * Installs the holder's token: from now on no older holder writes anything in the scope. `fence` does it by itself; call it before reads that are
 * made elsewhere than in a body.
 *
 * Rejects as {@link fence} does.
 *
 * @example
 * await install(redis, 'jobs', held);
 */
export async function install(
  redis: RedisClient,
  scope: string,
  holder: Holder,
  options: FenceOptions = {},
): Promise<void> {
  await installBy({ scripts: SCRIPTS, redis, scope, holder, options });
}

type CallOf = Omit<Opened, 'timeoutMs' | 'cutoff'> & { readonly options: FenceOptions };

/** @internal */
export async function installBy(of: CallOf): Promise<void> {
  await withCall('install', of, (call) => runIn(call, 'install', of.scripts.install));
}

/** @internal */
export async function fenceBy<Result>(of: CallOf, body: (tx: RedisTransaction) => Promise<Result>): Promise<Result> {
  checkBody(body);
  return await withCall('fence', of, async (call) => {
    if (!isInstalled(call)) await runIn(call, 'install', of.scripts.install);
    const tx = new RedisTransaction(call);
    try {
      const result = await call.cutoff.race(body(tx));
      of.holder.assertHeld?.();
      call.cutoff.throwIfAborted();
      await tx.commit();
      return result;
    } finally {
      tx.close();
    }
  });
}

const ENDED = 'the call was ended by a signal before its queued writes were sent; none of them was done';
const LIMIT = { name: 'timeoutMs', defaultMs: 10_000, ended: ENDED } as const;

function withCall<Result>(
  what: 'fence' | 'install',
  of: CallOf,
  run: (call: Opened) => Promise<Result>,
): Promise<Result> {
  return withLimit(what, LIMIT, of, (cutoff, timeoutMs) => {
    checkClient(of.redis);
    return run({ ...of, timeoutMs, cutoff });
  });
}

/**
 * The highest floor that the scope has seen: the token of its newest holder, if that is exclusive. 0 where nobody has been.
 *
 * @example
 * console.log(await highest(redis, 'jobs')); // 4711
 */
export async function highest(redis: RedisClient, scope: string): Promise<number> {
  checkClient(redis);
  checkScope(scope);
  const [stored] = repliesOf(await asked(redis, HIGHEST, scope), scope, 0);
  return Number(String(stored));
}

/**
 * What the settings of the server make of the promise: a text for each way in which it may lose tokens. `appendfsync` is not among what it can see.
 *
 * @example
 * for (const risk of await risks(redis, 'jobs')) console.warn(risk);
 */
export async function risks(redis: RedisClient, scope: string): Promise<readonly string[]> {
  checkClient(redis);
  checkScope(scope);
  const info = (await asked(redis, INFO, scope)).map(String).join('\n');
  return Object.entries(RISKS).flatMap(([text, sign]) => (sign.test(info) ? [text] : []));
}

async function asked(redis: RedisClient, script: Script, scope: string): Promise<Replies> {
  return await told(runScript(redis, script, [fenceKey(scope)], []), (error) => asFenceError(error, 'read'));
}

const RISKS = {
  'maxmemory-policy lets the server evict tokens: set noeviction, or a policy of volatile keys':
    /^maxmemory_policy:allkeys-/m,
  'appendonly is off: a crash takes back tokens and writes since the last snapshot; set appendonly yes and appendfsync always':
    /^aof_enabled:0/m,
  'replicas follow asynchronously: a failover may take back the newest tokens and writes': /^connected_slaves:[1-9]/m,
  'this server is a replica: tokens are checked by the primary': /^role:slave/m,
} as const;
