/**
 * Transactions on SQLite that a holder whose lock was granted to somebody newer cannot commit.
 *
 * @example
 * import { fence, migrate } from '@holdfast/fence-sqlite';
 *
 * migrate(database); // once
 * await client.lock('jobs').withLock(async (held) => {
 *   await fence(database, 'jobs', held, (tx) => {
 *     tx.prepare("UPDATE jobs SET state = 'running' WHERE id = ?").run(id);
 *   });
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export type { SqliteDatabase } from './database.ts';
export { fence, install, type FenceOptions } from './fence.ts';
export { highest, migrate, SCHEMA_SQL } from './schema.ts';
