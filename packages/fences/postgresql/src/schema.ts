/** Setting up, and what operators ask. */

import { checkScope } from '@holdfast/fence';
import { codeOf, invalid, told } from '@holdfast/fence/adapter';
import type { Pool } from 'pg';
import { asFenceError } from './errors.ts';
import { checkPool } from './fence.ts';
import { SCHEMA_VERSION, schemaSql } from './sql.ts';

/**
 * What {@link migrate} runs, for a tool of your own: it can be run again, and belongs into one transaction.
 *
 * @example
 * console.log(SCHEMA_SQL); // node -e … > migrations/0007_holdfast.sql
 */
export const SCHEMA_SQL: string = schemaSql();

/** Two who migrate at once take turns. */
const MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('holdfast.fence migration', 0))";

/**
 * Makes the schema `holdfast`, or brings it to this version. Needs the rights to create a schema; those who write need
 * `GRANT USAGE ON SCHEMA holdfast`. Does nothing where it is there.
 *
 * Rejects with FenceError SCHEMA_VERSION where a newer version of this package made the schema, CONNECTION or RESOURCE.
 *
 * @example
 * await migrate(pool);
 */
export async function migrate(pool: Pool): Promise<void> {
  checkPool(pool);
  await migrateTo(pool, SCHEMA_SQL);
}

/** @internal */
export async function migrateTo(pool: Pool, sql: string): Promise<void> {
  // Statements that are sent together are one transaction, which ends by itself where one of them fails.
  await asked('schema', '', pool.query(`${MIGRATION_LOCK}; ${sql}`));
}

/**
 * From now on the table is written only in transactions under a token of the scope: what comes past `fence` is refused with SQLSTATE HF002.
 * A table has one such scope; a second call changes it. Needs the rights of the table's owner.
 *
 * @param table as SQL has it: `jobs`, `public.jobs`, `"Odd Name"`
 *
 * Rejects with FenceError INVALID_ARGUMENT where there is no such table.
 *
 * @example
 * await guard(pool, 'jobs', 'jobs');
 */
export async function guard(pool: Pool, table: string, scope: string): Promise<void> {
  checkPool(pool);
  checkScope(scope);
  if (typeof table !== 'string' || table === '' || table.includes('\0'))
    throw invalid('a table is named as SQL has it, such as public.jobs');
  const looking = asked('schema', scope, pool.query<{ there: boolean }>(TABLE_THERE, [table]));
  const found = await told(looking, (error) =>
    error instanceof Error && NAME_CODES.includes(codeOf(error.cause)) ? noTable(table, error.cause) : error,
  );
  if (found.rows[0]?.there !== true) throw noTable(table);
  await asked('schema', scope, pool.query(GUARD_TABLE, [SCHEMA_VERSION, table, scope]));
}

const TABLE_THERE = 'SELECT to_regclass($1) IS NOT NULL AS there';
const GUARD_TABLE = 'SELECT holdfast.fence_guard_table($1, $2, $3)';
/** Syntax errors of names, and too many dots. */
const NAME_CODES = ['42601', '42602', '0A000'];

function noTable(table: string, cause?: unknown): Error {
  const advice = 'name it as SQL has it, such as public.jobs or "Odd Name"';
  return invalid(`there is no table ${JSON.stringify(table)}: ${advice}`, cause);
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
  const statement = 'SELECT holdfast.fence_highest($1, $2) AS highest';
  const { rows } = await asked('read', scope, pool.query<{ highest: string }>(statement, [SCHEMA_VERSION, scope]));
  return Number(rows[0]?.highest ?? 0);
}

async function asked<Result>(doing: 'schema' | 'read', scope: string, asking: Promise<Result>): Promise<Result> {
  return await told(asking, (error) => asFenceError(error, { doing, scope, token: 0 }));
}
