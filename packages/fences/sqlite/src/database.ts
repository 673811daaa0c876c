/** What this package needs of a driver. `better-sqlite3`, `libsql` and `DatabaseSync` of `node:sqlite` have it. */

import { invalid } from '@holdfast/fence/adapter';

type Value = string | number;

interface Statement {
  /** The first row. */
  get(...values: Value[]): unknown;
  run(...values: Value[]): unknown;
}

export interface SqliteDatabase {
  /** Runs statements that have no values. */
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
}

export type Row = Readonly<Record<string, unknown>>;

const DATABASES =
  'the database of the application: a Database of better-sqlite3 or libsql, or a DatabaseSync of node:sqlite; and none with promises';

/** @throws FenceError INVALID_ARGUMENT */
export function checkDatabase(database: unknown): asserts database is SqliteDatabase {
  const is = typeof database === 'object' && database !== null && 'exec' in database && 'prepare' in database;
  if (!is) throw invalid(`the first argument is ${DATABASES}`);
}

/** By database and text. Whoever closes a database of libsql closes it when its statements are collected as well: hence they are held weakly. */
const prepared = new WeakMap<SqliteDatabase, Map<string, WeakRef<Statement>>>();

/** Prepared once for many calls. SQLite itself prepares it again where the schema has changed. @throws what the driver throws */
export function statementOf(database: SqliteDatabase, sql: string): Statement {
  const known = prepared.get(database) ?? new Map<string, WeakRef<Statement>>();
  prepared.set(database, known);
  const there = known.get(sql)?.deref();
  if (there !== undefined) return there;
  const statement = database.prepare(sql);
  known.set(sql, new WeakRef(statement));
  return statement;
}

export function forgetStatements(database: SqliteDatabase): void {
  prepared.delete(database);
}

/** A row of a statement that is not prepared before: where the database may be closed, or is none. */
export function firstRow(database: SqliteDatabase, sql: string, ...values: Value[]): Row {
  return rowOf(database.prepare(sql), ...values);
}

/**
 * A row by its names, or one without any.
 *
 * @throws FenceError INVALID_ARGUMENT where the driver answers by promises; and what it throws
 */
export function rowOf(statement: Statement, ...values: Value[]): Row {
  const row = typeof statement.get === 'function' ? statement.get(...values) : statement;
  if (typeof row !== 'object' || row === null) return {};
  if (row === statement || 'then' in row) throw invalid(`the first argument is ${DATABASES}`);
  return row as Row;
}
