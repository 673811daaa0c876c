/**
 * Transactions on MySQL and MariaDB that a holder whose lock was granted to somebody newer cannot commit.
 *
 * @example
 * import { fence, migrate } from '@holdfast/fence-mysql';
 *
 * await migrate(pool); // once, with the right to create tables
 * await client.lock('jobs').withLock(async (held) => {
 *   await fence(pool, 'jobs', held, async (tx) => {
 *     await tx.query("UPDATE jobs SET state = 'running' WHERE id = ?", [id]);
 *   });
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export type { FenceOptions, InstallOptions } from '@holdfast/fence-sql';
export { fence, install } from './fence.ts';
export { highest, migrate, SCHEMA_SQL } from './schema.ts';
