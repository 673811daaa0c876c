/**
 * Writes on Redis and Valkey that are refused when their lock was granted to somebody newer.
 *
 * @example
 * import { fence } from '@holdfast/fence-redis';
 *
 * await client.lock('jobs').withLock(async (held) => {
 *   await fence(redis, 'jobs', held, async (tx) => {
 *     tx.set('{jobs}:42', 'running');
 *   });
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts';
export { fence, highest, install, risks, type FenceOptions } from './fence.ts';
export { keyOf } from './keys.ts';
export type { RedisTransaction, RedisValue, SetOptions } from './transaction.ts';
