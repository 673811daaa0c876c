/** What clients reject with, as errors of a fence. */

import { FenceError } from '@holdfast/fence';
import { messageOf } from '@holdfast/fence/adapter';

/** `write`: it may have happened although its answer is lost. The others can be repeated. */
export type Doing = 'install' | 'read' | 'write';

/** What the server says begins with a word in capitals; what clients say does not. */
const REPLY = /^-?([A-Z][A-Z0-9]{2,})\b/;
/** Servers that start, that follow another, that have too little of something, or that run another script. */
const PASSING = /^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|NOREPLICAS|OOM|UNBLOCKED)$/;
const PERMISSION = /^(NOPERM|NOAUTH|WRONGPASS)$/;
/** Of clients that know that they have no connection. */
const NOT_SENT = /^(The client is (closed|offline)|Stream isn't writeable)/;
const TIMED_OUT = /timed? ?out/i;

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, doing: Doing): FenceError {
  if (error instanceof FenceError) return error;
  const [cause, message] = [error, messageOf(error)];
  const [, word] = REPLY.exec(message) ?? [];
  if (word === undefined) {
    const indeterminate = doing === 'write' && !NOT_SENT.test(message);
    const text = `the server cannot be reached, or went away (${message})${outcome(indeterminate)}`;
    return new FenceError(TIMED_OUT.test(message) ? 'TIMEOUT' : 'CONNECTION', text, { cause, indeterminate });
  }
  if (word === 'CROSSSLOT') {
    const text = 'the keys are not in the slot of the token: in a cluster name them by keyOf(scope, name)';
    return new FenceError('INVALID_ARGUMENT', `${text} (${message})`, { cause });
  }
  // A script of the application may have written before it failed.
  const indeterminate = doing === 'write' && word === 'ERR';
  const text = `the server refused ${NAMES[doing]}: ${message}${adviceFor(word)}`;
  return new FenceError('RESOURCE', text, { cause, retryable: PASSING.test(word), indeterminate });
}

const NAMES: Readonly<Record<Doing, string>> = {
  install: 'to install the token',
  read: 'a read',
  write: 'a write',
};

function outcome(indeterminate: boolean): string {
  return indeterminate
    ? ' before it answered a write: read what was written before doing it again'
    : '; nothing was written';
}

function adviceFor(word: string): string {
  if (PERMISSION.test(word)) return '; the user needs the commands EVAL and EVALSHA, and the keys holdfast:fence:*';
  return word === 'READONLY' ? '; tokens are checked by the primary: this is a replica, or has become one' : '';
}

export function lateError(doing: Doing, timeoutMs: number): FenceError {
  const indeterminate = doing === 'write';
  const text = `the server has not answered ${NAMES[doing]} within ${timeoutMs} ms${indeterminate ? ': it may happen yet' : ''}`;
  return new FenceError('TIMEOUT', text, { indeterminate });
}
