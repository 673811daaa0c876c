/** What the driver rejects with, as errors of a fence. */

import { FenceError, StaleTokenError } from '@holdfast/fence';
import { codeOf, isNetworkError, messageOf, textIn } from '@holdfast/fence/adapter';
import { connectionError, refusedError, schemaVersionError, timeoutError, type Doing } from '@holdfast/fence-sql';
import { SCHEMA_VERSION, STATES } from './sql.ts';

export interface About {
  readonly doing: Doing;
  readonly scope: string;
  /** 0 where there is none. */
  readonly token: number;
}

/** Of the server's end. */
const CONNECTION_STATES = /^(08...|57P0[1-5]|53300)$/;
/** Of pg, which has no codes for them. */
const CONNECTION_MESSAGES = /^(Connection terminated|timeout exceeded when trying to connect|Client (has|was) )/;
/** A limit of locks, of statements, of transactions that do nothing, and of pg. */
const TIMEOUT_STATES = ['55P03', '57014', '25P03'];
const TIMEOUT_MESSAGE = 'Query read timeout';
/** Serialization failures, and deadlocks. */
const AGAIN_STATES = ['40001', '40P01'];
/** Of a schema, table or function that there is not. */
const MISSING_STATES = ['3F000', '42P01', '42883'];
const MISSING = 'the database has no schema holdfast for tokens: run migrate(pool), or the SQL of SCHEMA_SQL, once';
const PERMISSION_ADVICE = '; GRANT USAGE ON SCHEMA holdfast to the role, and run migrate as its owner';

export function isConnectionError(error: unknown): boolean {
  if (isNetworkError(error) || CONNECTION_STATES.test(codeOf(error))) return true;
  return error instanceof Error && codeOf(error) === '' && CONNECTION_MESSAGES.test(error.message);
}

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, { doing, scope, token }: About): FenceError {
  if (error instanceof FenceError) return error;
  const [cause, code, committing] = [error, codeOf(error), doing === 'commit'];
  if (isConnectionError(error)) return connectionError(error, committing);
  const givenUp = messageOf(error) === TIMEOUT_MESSAGE;
  if (givenUp || TIMEOUT_STATES.includes(code)) return timeoutError(error, doing, committing && givenUp);
  if (MISSING_STATES.includes(code)) return new FenceError('SCHEMA_MISSING', MISSING, { cause });
  switch (code) {
    case STATES.stale:
      return new StaleTokenError(scope, token, Number(textIn(error, 'detail')), { cause });
    case STATES.notInstalled: {
      const text = `token ${token} is not installed in scope ${JSON.stringify(scope)}: was the table holdfast.fence reset?`;
      return new FenceError('TOKEN_NOT_INSTALLED', text, { cause });
    }
    case STATES.version: {
      const found = Number(textIn(error, 'detail'));
      const by = '@holdfast/fence-postgresql';
      return schemaVersionError('the schema holdfast is', { found, known: SCHEMA_VERSION, by }, { cause });
    }
    default:
      return refusedError(error, doing, AGAIN_STATES.includes(code), code === '42501' ? PERMISSION_ADVICE : '');
  }
}

/** What a body rejects with stays as it is, unless it is of the fence or of the connection. */
export function asBodyError(error: unknown, scope: string): unknown {
  if (codeOf(error) === STATES.tokenRequired) {
    const text = `${messageOf(error)}; this transaction is under one of ${JSON.stringify(scope)}`;
    return new FenceError('TOKEN_REQUIRED', text, { cause: error });
  }
  if (codeOf(error) === '25P03') {
    const text = 'the transaction was without a statement for longer than idleMs, and the database ended it';
    return new FenceError('TIMEOUT', `${text}; nothing was written`, { cause: error });
  }
  if (!isConnectionError(error)) return error;
  return new FenceError('CONNECTION', 'the database went away before the commit; nothing was written', {
    cause: error,
  });
}
