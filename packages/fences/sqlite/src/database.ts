/** What this package needs of a driver. `better-sqlite3`, `libsql` and `DatabaseSync` of `node:sqlite` have it. */

import { invalid } from '@holdfast/fence/adapter';

type Value = string | number;

export interface SqliteDatabase {
  /** Runs statements that have no values. */
  exec(sql: string): unknown;
  prepare(sql: string): {
    /** The first row. */
    get(...values: Value[]): unknown;
    run(...values: Value[]): unknown;
  };
}

const DATABASES =
  'the database of the application: a Database of better-sqlite3 or libsql, or a DatabaseSync of node:sqlite; and none with promises';

/** @throws FenceError INVALID_ARGUMENT */
export function checkDatabase(database: unknown): asserts database is SqliteDatabase {
  const is = typeof database === 'object' && database !== null && 'exec' in database && 'prepare' in database;
  if (!is) throw invalid(`the first argument is ${DATABASES}`);
}

/**
 * A row by its names, or one without any.
 *
 * @throws FenceError INVALID_ARGUMENT where the driver answers by promises; and what it throws
 */
export function firstRow(database: SqliteDatabase, sql: string, ...values: Value[]): Readonly<Record<string, unknown>> {
  const statement = database.prepare(sql);
  const row = typeof statement.get === 'function' ? statement.get(...values) : statement;
  if (typeof row !== 'object' || row === null) return {};
  if (row === statement || 'then' in row) throw invalid(`the first argument is ${DATABASES}`);
  return row as Readonly<Record<string, unknown>>;
}
