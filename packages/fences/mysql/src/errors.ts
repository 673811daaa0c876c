/** What the driver rejects with, as errors of a fence. */

import { FenceError } from '@holdfast/fence';
import { codeOf, isNetworkError, messageOf, valueIn } from '@holdfast/fence/adapter';
import { connectionError, refusedError, schemaVersionError, timeoutError, type Doing } from '@holdfast/fence-sql';
import { SCHEMA_VERSION } from './sql.ts';

/** Too many connections, shutdowns, KILL, network errors, and a session without a statement for too long. */
const CONNECTION_NUMBERS = [1040, 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1927, 4031];
/** Those of the server have no number where nothing was asked; ENOENT is of its socket. */
const CONNECTION_CODES =
  /^(PROTOCOL_(CONNECTION_LOST|UNEXPECTED_PACKET|ERROR)|ER_CONNECTION_KILLED|ER_CLIENT_INTERACTION_TIMEOUT|ENOENT)$/;
/** Of mysql2, which has no codes for them. */
const CLOSED_STATE = /closed state/;
const CONNECTION_MESSAGES = /^(No connections available|Queue limit reached|Pool is closed|connect ETIMEDOUT)/;
/** Locks that were waited for, and limits of statements. */
const TIMEOUT_NUMBERS = [1205, 3024, 1969];
const TIMEOUT_CODE = 'PROTOCOL_SEQUENCE_TIMEOUT';
const NO_DATABASE = 1046;
const NO_TABLE = 1146;
const NO_COLUMN = 1054;
/** Of databases, tables and columns. */
const PERMISSION_NUMBERS = [1044, 1142, 1143];
/** Of an option of the server (`read_only`), and of transactions. */
const READ_ONLY_NUMBERS = [1290, 1792, 1836];
export const DEADLOCK = 1213;
/** The row has changed since the transaction's first read, where `innodb_snapshot_isolation` is on. */
const CHANGED = 1020;

/** 0 where it is none of the server. */
export function numberOf(error: unknown): number {
  const number = valueIn(error, 'errno');
  // Those of the operating system are below zero.
  return typeof number === 'number' && number > 0 && codeOf(error).startsWith('ER_') ? number : 0;
}

export function isConnectionError(error: unknown): boolean {
  const number = numberOf(error);
  if (number !== 0) return CONNECTION_NUMBERS.includes(number);
  if (isNetworkError(error) || CONNECTION_CODES.test(codeOf(error))) return true;
  return error instanceof Error && (wasNotSent(error) || CONNECTION_MESSAGES.test(error.message));
}

/** The connection was known to be closed, so that nothing left this process. */
function wasNotSent(error: unknown): boolean {
  return error instanceof Error && CLOSED_STATE.test(error.message);
}

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, doing: Doing): FenceError {
  if (error instanceof FenceError) return error;
  const [cause, number] = [error, numberOf(error)];
  const lost = doing === 'commit' && !wasNotSent(error);
  if (isConnectionError(error)) return connectionError(error, lost);
  if (codeOf(error) === TIMEOUT_CODE) return timeoutError(error, doing, lost);
  if (TIMEOUT_NUMBERS.includes(number)) return timeoutError(error, doing, false);
  switch (number) {
    case NO_TABLE:
      return missingSchema(cause);
    case NO_DATABASE: {
      const text = 'the pool names no database, where the tables of tokens are: give createPool a database';
      return new FenceError('SCHEMA_MISSING', text, { cause });
    }
    case NO_COLUMN: {
      const text = 'the tables of tokens have other columns than this version of @holdfast/fence-mysql knows';
      return new FenceError('SCHEMA_VERSION', `${text}: ${messageOf(error)}`, { cause });
    }
    default:
      return refusedError(error, doing, number === DEADLOCK || number === CHANGED, adviceFor(number));
  }
}

/**
 * What a body rejects with stays as it is, unless it is of the connection.
 *
 * @param lost what has ended that, or the transaction on it: it says more than that it has ended
 */
export function asBodyError(error: unknown, lost?: Error): unknown {
  const isEnd = isConnectionError(error) || (lost !== undefined && error === lost);
  const cause = isEnd ? (lost ?? error) : error;
  if (!isEnd || cause instanceof FenceError) return cause;
  const text =
    'the database went away before the commit, or ended a transaction without a statement for longer than idleMs';
  return new FenceError('CONNECTION', `${text} (${messageOf(cause)}); nothing was written`, { cause });
}

export function versionError(found: number): FenceError {
  const known = { found, known: SCHEMA_VERSION, by: '@holdfast/fence-mysql' };
  return schemaVersionError('the schema of tokens is', known);
}

export function missingSchema(cause?: unknown): FenceError {
  const text = 'the database of the pool has no tables for tokens: run migrate(pool), or the SQL of SCHEMA_SQL, once';
  return new FenceError('SCHEMA_MISSING', text, { cause });
}

function adviceFor(number: number): string {
  if (PERMISSION_NUMBERS.includes(number)) {
    return '; GRANT SELECT, INSERT, UPDATE ON holdfast_fence and SELECT, UPDATE ON holdfast_fence_version to the user';
  }
  return READ_ONLY_NUMBERS.includes(number) ? '; tokens are checked by the server that writes: is this a replica?' : '';
}
