/** What the driver rejects with, as errors of a fence. */

import { FenceError, type FenceErrorOptions } from '@holdfast/fence';
import { SCHEMA_VERSION } from './sql.ts';

/** `commit`: its answer may be lost. */
export type Doing = 'connect' | 'install' | 'enter' | 'commit' | 'schema' | 'read';

/** Too many connections, shutdowns, KILL, network errors, and a session without a statement for too long. */
const CONNECTION_NUMBERS = [1040, 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1927, 4031];
/** The last two of the server have no number where nothing was asked. */
const CONNECTION_CODES =
  /^(PROTOCOL_(CONNECTION_LOST|UNEXPECTED_PACKET|ERROR)|ER_CONNECTION_KILLED|ER_CLIENT_INTERACTION_TIMEOUT|ECONN\w+|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;
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
  if (CONNECTION_CODES.test(codeOf(error))) return true;
  return error instanceof Error && (wasNotSent(error) || CONNECTION_MESSAGES.test(error.message));
}

/** The connection was known to be closed, so that nothing left this process. */
function wasNotSent(error: unknown): boolean {
  return error instanceof Error && CLOSED_STATE.test(error.message);
}

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, doing: Doing): FenceError {
  return error instanceof FenceError ? error : new FenceError(...described(error, doing));
}

/** What a body rejects with stays as it is, unless it is of the connection. */
export function asBodyError(error: unknown): unknown {
  return error instanceof FenceError || !isConnectionError(error) ? error : lostError(error);
}

/** The connection's end, while the body was at work. */
export function lostError(error: unknown): FenceError {
  return new FenceError(
    'CONNECTION',
    `the database went away before the commit, or ended a transaction that was without a statement for longer than idleMs ` +
      `(${messageOf(error)}); nothing was written`,
    { cause: error },
  );
}

export function versionError(version: number): FenceError {
  const what = `the tables of @holdfast/fence-mysql are of version ${version}, and this package knows ${SCHEMA_VERSION}`;
  const text =
    version > SCHEMA_VERSION
      ? `${what}: they were made by a newer version of it, so install that`
      : `${what}: run migrate(pool)`;
  return new FenceError('SCHEMA_VERSION', text);
}

export function missingSchema(cause?: unknown): FenceError {
  const text = 'the database of the pool has no tables for tokens: run migrate(pool), or the SQL of SCHEMA_SQL, once';
  return new FenceError('SCHEMA_MISSING', text, { cause });
}

function described(error: unknown, doing: Doing): [FenceError['code'], string, FenceErrorOptions] {
  const [cause, number] = [error, numberOf(error)];
  const indeterminate = doing === 'commit' && !wasNotSent(error);
  if (isConnectionError(error)) return ['CONNECTION', connectionText(error, indeterminate), { cause, indeterminate }];
  if (codeOf(error) === TIMEOUT_CODE) return ['TIMEOUT', timeoutText(error, doing), { cause, indeterminate }];
  if (TIMEOUT_NUMBERS.includes(number)) return ['TIMEOUT', timeoutText(error, doing), { cause }];
  if (number === NO_TABLE) return ['SCHEMA_MISSING', missingSchema().message, { cause }];
  if (number === NO_DATABASE) {
    const text = 'the pool names no database, where the tables of tokens are: give createPool a database';
    return ['SCHEMA_MISSING', text, { cause }];
  }
  if (number === NO_COLUMN) {
    const text = 'the tables of tokens have other columns than this version of @holdfast/fence-mysql knows';
    return ['SCHEMA_VERSION', `${text}: ${messageOf(error)}`, { cause }];
  }
  const text = `the database refused ${NAMES[doing]}: ${messageOf(error)}${adviceFor(number)}`;
  return ['RESOURCE', text, { cause, retryable: number === DEADLOCK || number === CHANGED }];
}

function adviceFor(number: number): string {
  if (PERMISSION_NUMBERS.includes(number)) {
    return '; GRANT SELECT, INSERT, UPDATE ON holdfast_fence and SELECT, UPDATE ON holdfast_fence_version to the user';
  }
  return READ_ONLY_NUMBERS.includes(number) ? '; tokens are checked by the server that writes: is this a replica?' : '';
}

const NAMES: Readonly<Record<Doing, string>> = {
  connect: 'a connection',
  install: 'to install the token',
  enter: 'to begin a transaction under the token',
  commit: 'the commit',
  schema: 'to change the schema',
  read: 'to read the highest token',
};

function connectionText(error: unknown, indeterminate: boolean): string {
  const what = `the database cannot be reached, or went away (${messageOf(error)})`;
  return indeterminate
    ? `${what} before it answered the commit: read what was written before doing it again`
    : `${what}; nothing was written`;
}

function timeoutText(error: unknown, doing: Doing): string {
  if (doing === 'install') {
    return 'transactions of older holders are under way for longer than waitMs; they end by themselves, so try again';
  }
  return `the database took too long ${NAMES[doing]}: ${messageOf(error)}`;
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? codeOf(error) : text;
}

function codeOf(error: unknown): string {
  const code = valueIn(error, 'code');
  return typeof code === 'string' ? code : '';
}

function valueIn(error: unknown, name: 'code' | 'errno'): unknown {
  return typeof error === 'object' && error !== null && name in error ? Reflect.get(error, name) : undefined;
}
