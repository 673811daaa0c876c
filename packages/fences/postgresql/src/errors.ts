/** What the driver rejects with, as errors of a fence. */

import { FenceError, StaleTokenError, type FenceErrorOptions } from '@holdfast/fence';
import { SCHEMA_VERSION, STATES } from './sql.ts';

/** `commit`: its answer may be lost. */
export type Doing = 'install' | 'enter' | 'commit' | 'schema' | 'read';

export interface About {
  readonly doing: Doing;
  readonly scope: string;
  /** 0 where there is none. */
  readonly token: number;
}

/** Of the server's end, and of sockets. */
const CONNECTION_CODES =
  /^(08...|57P0[1-5]|53300|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;
/** Of pg, which has no codes for them. */
const CONNECTION_MESSAGES = /^(Connection terminated|timeout exceeded when trying to connect|Client (has|was) )/;
/** A limit of locks, of statements, of transactions that do nothing, and of pg. */
const TIMEOUT_CODES = ['55P03', '57014', '25P03'];
const TIMEOUT_MESSAGE = 'Query read timeout';
/** A schema, table or function that there is not. */
const MISSING_CODES = ['3F000', '42P01', '42883'];
const PERMISSION = '42501';
/** Serialization failures, and deadlocks. */
const AGAIN_CODES = ['40001', '40P01'];

export function codeOf(error: unknown): string {
  return textIn(error, 'code');
}

export function isConnectionError(error: unknown): boolean {
  if (CONNECTION_CODES.test(codeOf(error))) return true;
  // Of several addresses that were tried.
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  return error instanceof Error && codeOf(error) === '' && CONNECTION_MESSAGES.test(error.message);
}

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, about: About): FenceError {
  if (error instanceof FenceError) return error;
  const code = codeOf(error);
  const { doing, scope, token } = about;
  if (code === STATES.stale)
    return new StaleTokenError(scope, token, Number(textIn(error, 'detail')), { cause: error });
  if (code === STATES.notInstalled) {
    const text = `token ${token} is not installed in scope ${JSON.stringify(scope)}: was the table holdfast.fence reset?`;
    return new FenceError('TOKEN_NOT_INSTALLED', text, { cause: error });
  }
  return new FenceError(...described(error, code, doing));
}

/** What a body rejects with stays as it is, unless it is of the fence or of the connection. */
export function asBodyError(error: unknown, scope: string): unknown {
  if (codeOf(error) === STATES.tokenRequired) {
    return new FenceError(
      'TOKEN_REQUIRED',
      `${messageOf(error)}; this transaction is under one of ${JSON.stringify(scope)}`,
      {
        cause: error,
      },
    );
  }
  if (codeOf(error) === '25P03') {
    const text =
      'the transaction was without a statement for longer than idleMs, and the database ended it; nothing was written';
    return new FenceError('TIMEOUT', text, { cause: error });
  }
  if (!isConnectionError(error)) return error;
  return new FenceError('CONNECTION', 'the database went away before the commit; nothing was written', {
    cause: error,
  });
}

function described(error: unknown, code: string, doing: Doing): [FenceError['code'], string, FenceErrorOptions] {
  const cause = error;
  const indeterminate = doing === 'commit';
  if (isConnectionError(error)) return ['CONNECTION', connectionText(error, doing), { cause, indeterminate }];
  if (TIMEOUT_CODES.includes(code) || messageOf(error) === TIMEOUT_MESSAGE) {
    const ended = indeterminate && messageOf(error) === TIMEOUT_MESSAGE;
    return ['TIMEOUT', timeoutText(error, doing), { cause, indeterminate: ended }];
  }
  if (code === STATES.version) return ['SCHEMA_VERSION', versionText(Number(textIn(error, 'detail'))), { cause }];
  if (MISSING_CODES.includes(code)) {
    const text = 'the database has no schema holdfast for tokens: run migrate(pool), or the SQL of SCHEMA_SQL, once';
    return ['SCHEMA_MISSING', text, { cause }];
  }
  const advice =
    code === PERMISSION ? '; GRANT USAGE ON SCHEMA holdfast to the role, and run migrate as its owner' : '';
  const text = `the database refused ${NAMES[doing]}: ${messageOf(error)}${advice}`;
  return ['RESOURCE', text, { cause, retryable: AGAIN_CODES.includes(code) }];
}

const NAMES: Readonly<Record<Doing, string>> = {
  install: 'to install the token',
  enter: 'to begin a transaction under the token',
  commit: 'the commit',
  schema: 'to change the schema',
  read: 'to read the highest token',
};

function connectionText(error: unknown, doing: Doing): string {
  const what = `the database cannot be reached, or went away (${messageOf(error)})`;
  return doing === 'commit'
    ? `${what} before it answered the commit: read what was written before doing it again`
    : `${what}; nothing was written`;
}

function timeoutText(error: unknown, doing: Doing): string {
  if (doing === 'install') {
    return 'transactions of older holders are under way for longer than waitMs; they end by themselves, so try again';
  }
  return `the database took too long ${NAMES[doing]}: ${messageOf(error)}`;
}

function versionText(version: number): string {
  const what = `the schema holdfast is of version ${version}, and this package knows ${SCHEMA_VERSION}`;
  return version > SCHEMA_VERSION
    ? `${what}: it was made by a newer version of @holdfast/fence-postgresql, so install that`
    : `${what}: run migrate(pool)`;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? codeOf(error) : text;
}

function textIn(error: unknown, name: 'code' | 'detail'): string {
  if (typeof error !== 'object' || error === null || !(name in error)) return '';
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' ? value : '';
}
