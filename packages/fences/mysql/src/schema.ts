/** Setting up, and what operators ask. */

import { checkScope } from '@holdfast/fence';
import { told } from '@holdfast/fence/adapter';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { asFenceError, versionError } from './errors.ts';
import { checkPool } from './fence.ts';
import { readFloor } from './floors.ts';
import { SCHEMA_VERSION, schemaStatements, STATEMENTS } from './sql.ts';

/**
 * What {@link migrate} runs, for a tool of your own: it can be run again.
 *
 * @example
 * console.log(SCHEMA_SQL); // node -e … > migrations/0007_holdfast.sql
 */
export const SCHEMA_SQL: string = schemaStatements()
  .map((statement) => `${statement};\n`)
  .join('\n');

/**
 * Makes the tables `holdfast_fence` and `holdfast_fence_version` in the database of the pool, or brings them to this version. Needs the right to
 * create tables; those who write need SELECT, INSERT and UPDATE on the first, SELECT and UPDATE on the second. Does nothing where they are there.
 *
 * Rejects with FenceError SCHEMA_VERSION where a newer version of this package made them, CONNECTION or RESOURCE.
 *
 * @example
 * await migrate(pool);
 */
export async function migrate(pool: Pool): Promise<void> {
  checkPool(pool);
  await migrateTo(pool, SCHEMA_VERSION);
}

interface VersionRow extends RowDataPacket {
  readonly version: number;
}

/** @internal */
export async function migrateTo(pool: Pool, version: number): Promise<void> {
  const [tables, there] = [schemaStatements(version).slice(0, -1), schemaStatements(version).slice(-1)];
  try {
    for (const statement of tables) await pool.query(statement);
    // It is written only where it changes: transactions under way have it locked.
    const present = await versionOn(pool);
    if (present !== undefined && present > version) throw versionError(present);
    if (present !== version) for (const statement of there) await pool.query(statement);
  } catch (error) {
    throw asFenceError(error, 'schema');
  }
}

async function versionOn(pool: Pool): Promise<number | undefined> {
  const [[row]] = await pool.query<VersionRow[]>({ sql: STATEMENTS.version, rowsAsArray: false });
  return row?.version;
}

/**
 * The highest floor that the scope has seen: the token of its newest holder, if that is exclusive. 0 where nobody has been.
 *
 * @example
 * console.log(await highest(pool, 'jobs')); // 4711
 */
export async function highest(pool: Pool, scope: string): Promise<number> {
  checkPool(pool);
  checkScope(scope);
  return await told(readFloor(pool, STATEMENTS.look, scope), (error) => asFenceError(error, 'read'));
}
