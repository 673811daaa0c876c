/**
 * Transactions on PostgreSQL that a holder whose lock was granted to somebody newer cannot commit.
 *
 * @example
 * import { fence, migrate } from '@holdfast/fence-postgresql';
 *
 * await migrate(pool); // once, with the rights to create a schema
 * await client.lock('jobs').withLock(async (held) => {
 *   await fence(pool, 'jobs', held, async (tx) => {
 *     await tx.query("UPDATE jobs SET state = 'running' WHERE id = $1", [id]);
 *   });
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export type { FenceOptions, InstallOptions } from '@holdfast/fence-sql';
export { fence, install } from './fence.ts';
export { guard, highest, migrate, SCHEMA_SQL } from './schema.ts';
