/** What clients reject with, as errors of a fence. */

import { FenceError } from '@holdfast/fence';
import { messageOf } from '@holdfast/fence/adapter';

/** `write`: it may have happened although its answer is lost. The others can be repeated. */
const NAMES = { install: 'to install the token', read: 'a read', write: 'a write' } as const;
export type Doing = keyof typeof NAMES;

/** What the server says begins with a word in capitals; what clients say does not. */
const REPLY = /^-?([A-Z][A-Z0-9]{2,})\b/;
/** Servers that start, that follow another, that have too little of something, or that run another script. */
const PASSING = /^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|NOREPLICAS|OOM|UNBLOCKED)$/;
const RIGHTS = '; the user needs the commands EVAL and EVALSHA, and the keys holdfast:fence:*';
const ADVICE: Readonly<Record<string, string>> = {
  NOPERM: RIGHTS,
  NOAUTH: RIGHTS,
  WRONGPASS: RIGHTS,
  READONLY: '; tokens are checked by the primary: this is a replica, or has become one',
};
/** Of clients that know that they have no connection. */
const NOT_SENT = /^(The client is (closed|offline)|Stream isn't writeable)/;
const TIMED_OUT = /timed? ?out/i;

/** An error that is one of a fence already stays. */
export function asFenceError(error: unknown, doing: Doing): FenceError {
  if (error instanceof FenceError) return error;
  const [cause, message, writing] = [error, messageOf(error), doing === 'write'];
  const [, word] = REPLY.exec(message) ?? [];
  if (word === undefined) {
    const indeterminate = writing && !NOT_SENT.test(message);
    const lost = ' before it answered a write: read what was written before doing it again';
    const text = `the server cannot be reached, or went away (${message})${indeterminate ? lost : '; nothing was written'}`;
    return new FenceError(TIMED_OUT.test(message) ? 'TIMEOUT' : 'CONNECTION', text, { cause, indeterminate });
  }
  if (word === 'CROSSSLOT') {
    const text = 'the keys are not in the slot of the token: in a cluster name them by keyOf(scope, name)';
    return new FenceError('INVALID_ARGUMENT', `${text} (${message})`, { cause });
  }
  const text = `the server refused ${NAMES[doing]}: ${message}${ADVICE[word] ?? ''}`;
  // A script of the application may have written before it failed.
  const indeterminate = writing && word === 'ERR';
  return new FenceError('RESOURCE', text, { cause, retryable: PASSING.test(word), indeterminate });
}

export function lateError(doing: Doing, timeoutMs: number): FenceError {
  const indeterminate = doing === 'write';
  const text = `the server has not answered ${NAMES[doing]} within ${timeoutMs} ms${indeterminate ? ': it may happen yet' : ''}`;
  return new FenceError('TIMEOUT', text, { indeterminate });
}
