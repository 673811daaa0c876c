/** What drivers reject with, as errors of a fence. */

import { FenceError } from '@holdfast/fence';
import { codeOf, messageOf, valueIn } from '@holdfast/fence/adapter';
import { SCHEMA_VERSION } from './sql.ts';

/** `commit`: it may have happened although it failed. */
export type Doing = 'begin' | 'install' | 'commit' | 'schema' | 'read';

const NAMES: Readonly<Record<Doing, string>> = {
  begin: 'to begin a transaction under the token',
  install: 'to install the token',
  commit: 'the commit',
  schema: 'to make the tables of tokens',
  read: 'to read the highest token',
};

/** Result codes of SQLite. node:sqlite gives numbers, of which the lowest eight bits are these. */
const RESULTS: Readonly<Record<string, number>> = {
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
};
const ADVICE: Readonly<Record<number, string>> = {
  8: '; open the database for writing: tokens are kept in it',
  13: '; free space on the disk, and try again',
};
const MISSING = /no such table: (?:main\.)?holdfast_fence/;
const NO_COLUMN = /no such column: [vf]\.|has no column named (?:scope|floor|version|one)\b/;
/** The savepoint of the fence, or the transaction, is not there any more. */
const ENDED = /no such savepoint|no transaction is active/;
const NESTED = /within a transaction/;
const CLOSED = /\bis not open\b|\bnot open$|database is closed|statement has been finalized/i;

/** 0 where it is none of SQLite. Extended codes have more words, and more bits. */
function resultOf(error: unknown): number {
  const number = valueIn(error, 'errcode');
  if (typeof number === 'number') return number & 0xff;
  const code = codeOf(error);
  return RESULTS[code.split('_').slice(0, 2).join('_')] ?? 0;
}

/** Another connection writes. */
export function isBusy(error: unknown): boolean {
  return [5, 6].includes(resultOf(error));
}

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, doing: Doing): FenceError {
  if (error instanceof FenceError) return error;
  const [cause, message, result] = [error, messageOf(error), resultOf(error)];
  if (CLOSED.test(message)) {
    const text = `the database is closed (${message}); nothing was written`;
    return new FenceError('CONNECTION', text, { cause, retryable: false });
  }
  if (MISSING.test(message)) return missingSchema(cause);
  if (NO_COLUMN.test(message)) {
    const text = 'the tables of tokens have other columns than this version of @holdfast/fence-sqlite knows';
    return new FenceError('SCHEMA_VERSION', `${text}: ${message}`, { cause });
  }
  if (ENDED.test(message)) {
    const text = 'the body has ended the transaction itself: what it wrote afterwards was not fenced';
    return new FenceError('RESOURCE', `${text}; run no COMMIT or ROLLBACK in it`, { cause, indeterminate: true });
  }
  if (isBusy(error)) {
    const text = `others use the database (${message}); nothing was written, so try again`;
    return new FenceError('TIMEOUT', text, { cause });
  }
  const nested = NESTED.test(message) ? '; commit or roll back before, on this connection' : '';
  const text = `the database refused ${NAMES[doing]}: ${message}${ADVICE[result] ?? nested}`;
  // A sync that failed may have left anything.
  const indeterminate = doing === 'commit' && result === RESULTS['SQLITE_IOERR'];
  return new FenceError('RESOURCE', text, { cause, retryable: result === RESULTS['SQLITE_FULL'], indeterminate });
}

export function missingSchema(cause?: unknown): FenceError {
  const text = 'the database has no tables for tokens: run migrate(database), or the SQL of SCHEMA_SQL, once';
  return new FenceError('SCHEMA_MISSING', text, { cause });
}

export function versionError(found: number): FenceError {
  const newer = 'they were made by a newer version of @holdfast/fence-sqlite, so install that';
  const advice = found > SCHEMA_VERSION ? newer : 'run migrate(database)';
  const text = `the tables of tokens are of version ${found}, and this package knows ${SCHEMA_VERSION}: ${advice}`;
  return new FenceError('SCHEMA_VERSION', text);
}

/** @throws what {@link asFenceError} makes of a failure */
export function during<Result>(doing: Doing, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw asFenceError(error, doing);
  }
}
