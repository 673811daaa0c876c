/** How failures of a database are told. */

import { FenceError, type FenceErrorOptions } from '@holdfast/fence';
import { messageOf } from '@holdfast/fence/adapter';

/** `commit`: its answer may be lost. */
export type Doing = 'connect' | 'install' | 'enter' | 'commit' | 'schema' | 'read';

const NAMES: Readonly<Record<Doing, string>> = {
  connect: 'a connection',
  install: 'to install the token',
  enter: 'to begin a transaction under the token',
  commit: 'the commit',
  schema: 'to change the schema',
  read: 'to read the highest token',
};

/** The connection is lost, or there is none. @param indeterminate the answer to a commit is lost */
export function connectionError(cause: unknown, indeterminate: boolean): FenceError {
  const end = indeterminate
    ? ' before it answered the commit: read what was written before doing it again'
    : '; nothing was written';
  const text = `the database cannot be reached, or went away (${messageOf(cause)})${end}`;
  return new FenceError('CONNECTION', text, { cause, indeterminate });
}

export function timeoutError(cause: unknown, doing: Doing, indeterminate: boolean): FenceError {
  const text =
    doing === 'install'
      ? 'transactions of older holders are under way for longer than waitMs; they end by themselves, so try again'
      : `the database took too long ${NAMES[doing]}: ${messageOf(cause)}`;
  return new FenceError('TIMEOUT', text, { cause, indeterminate });
}

export function refusedError(cause: unknown, doing: Doing, retryable: boolean, advice: string): FenceError {
  const text = `the database refused ${NAMES[doing]}: ${messageOf(cause)}${advice}`;
  return new FenceError('RESOURCE', text, { cause, retryable });
}

/** @param what as of "the schema holdfast is" */
export function schemaVersionError(
  what: string,
  { found, known, by }: { readonly found: number; readonly known: number; readonly by: string },
  options: FenceErrorOptions = {},
): FenceError {
  const advice = found > known ? `it was made by a newer version of ${by}, so install that` : 'run migrate(pool)';
  const text = `${what} of version ${found}, and this package knows ${known}: ${advice}`;
  return new FenceError('SCHEMA_VERSION', text, options);
}
