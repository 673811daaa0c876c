/**
 * What acquiring has in common for every kind of lock: the options and their checks, outcomes as errors and results, what is published of
 * them, and a body that runs under a hold.
 */

import type { Holder } from '@holdfast/protocol';
import { acquireEnded, acquireStarted, holdStarted, type AcquireMessage } from '../diagnostics/channels.ts';
import { InvalidArgumentError, LockLostError, TimeoutError } from '../errors.ts';
import type { Present } from '../incarnations/incarnation.ts';
import { checkOptionNames } from '../option-names.ts';
import { checkDuration } from '../options.ts';
import type { AcquireOutcome } from './acquire-call.ts';
import type { HeldLock } from './held-lock.ts';
import { describeWait, locksText, type LockWait } from './waits/lock-wait.ts';
import type { Wanted } from './wanted.ts';

export interface AcquireOptions {
  /**
   * How long to wait for the lock. When that is over the wait is cancelled in the background, and the lock given back if it was
   * granted at the last moment. 0 never enqueues; `Infinity` is no limit. @default the client's `defaultWaitMs`, which is no limit
   */
  readonly waitMs?: number;
  /** Gives up, with the signal's reason; what becomes of the wait is as for `waitMs`. */
  readonly signal?: AbortSignal;
  /**
   * Is told who holds the lock and how many are before, once the acquire waits, and about once a second from then on. All waits of a client
   * for one lock ask the ensemble together. Never called for a lock that is granted at once. What it throws is logged.
   *
   * @example
   * await lock.acquire({ onWait: ({ before }) => show(`${before} are before you`) });
   */
  readonly onWait?: (wait: LockWait) => void;
}

export interface TryAcquireOptions extends AcquireOptions {
  /** @default 0 */
  readonly waitMs?: number;
}

export const ACQUIRE_OPTIONS: Record<keyof AcquireOptions, true> = { waitMs: true, signal: true, onWait: true };

export type TryAcquireResult =
  | { readonly acquired: true; readonly held: HeldLock }
  /**
   * `holder`: who had it when the ensemble refused, or was asked last; undefined for `cancelled`, and where it did not say it in time. Its token
   * is 0 where nobody has it: then that one is before, and waits for another lock, too. Its session is 0 where the lock is delayed, since the
   * holder under that token was lost.
   */
  | {
      readonly acquired: false;
      readonly reason: 'held' | 'timeout' | 'cancelled';
      readonly holder: Holder | undefined;
    };

/** @throws InvalidArgumentError */
export function checkAcquireOptions(
  what: string,
  options: AcquireOptions,
  known: Readonly<Record<string, true>> = ACQUIRE_OPTIONS,
): void {
  checkOptionNames(what, options, known);
  checkDuration('waitMs', options.waitMs);
  if (options.onWait !== undefined && typeof options.onWait !== 'function')
    throw new InvalidArgumentError('onWait must be a function, which is called with what the acquire waits for');
}

/** Publishes that it is about to be asked for, where somebody listens: then {@link ended} must follow. */
export function started(wanted: Wanted, waitMs: number, present: Present): AcquireMessage | undefined {
  return acquireStarted(wanted, waitMs, present().session.id);
}

/** The same outcome, when what came of it is published. */
export async function ended(
  message: AcquireMessage,
  asked: AcquireOutcome | Promise<AcquireOutcome>,
  present: Present,
): Promise<AcquireOutcome> {
  const outcome = await asked;
  diagnose(message, outcome, present().session.id);
  return outcome;
}

/** @throws what an outcome stands for that is no hold */
export function heldOf(outcome: AcquireOutcome, wanted: Wanted, waitMs: number, present: Present): HeldLock {
  switch (outcome.type) {
    case 'held':
      return outcome.held;
    case 'timeout': {
      const text = timeoutText(wanted, waitMs, present, outcome.wait);
      throw new TimeoutError(text, { indeterminate: false, wait: outcome.wait });
    }
    case 'lockHeld':
      throw new TimeoutError(`${heldText(wanted, outcome.holder)}, and waitMs is 0`, { indeterminate: false });
    case 'aborted':
      throw outcome.reason;
    case 'failed':
      throw outcome.error;
  }
}

/** @throws what an outcome stands for that is no answer */
export function resultOf(outcome: AcquireOutcome, wanted: Wanted, waitMs: number, present: Present): TryAcquireResult {
  switch (outcome.type) {
    case 'held':
      return { acquired: true, held: outcome.held };
    case 'lockHeld':
      return { acquired: false, reason: 'held', holder: outcome.holder };
    case 'timeout':
      if (waitMs === 0) throw new TimeoutError(timeoutText(wanted, 0, present), { indeterminate: false });
      return { acquired: false, reason: 'timeout', holder: outcome.wait?.holders[0] };
    case 'aborted':
      return { acquired: false, reason: 'cancelled', holder: undefined };
    case 'failed':
      throw outcome.error;
  }
}

/** Runs the body, and releases: see `withLock`. */
export async function runHolding<T>(held: HeldLock, body: (held: HeldLock) => T | PromiseLike<T>): Promise<T> {
  let result: T;
  try {
    result = await body(held);
  } catch (error) {
    const loss = lossOf(held);
    if (loss !== undefined) attachCause(error, loss);
    await held[Symbol.asyncDispose]();
    throw error;
  }
  // What the body has released itself is not lost.
  if (lossOf(held)?.reason === 'released') return result;
  try {
    await held.release();
  } catch (error) {
    // Any other: the release goes on in the background, and the event `release-unconfirmed` has reported it.
    if (error instanceof LockLostError) throw error;
  }
  return result;
}

function diagnose(message: AcquireMessage, outcome: AcquireOutcome, sessionId: number): void {
  switch (outcome.type) {
    case 'held': {
      const { token } = outcome.held;
      acquireEnded(message, 'held', token, undefined);
      outcome.held.diagnose(holdStarted(message, token, sessionId));
      return;
    }
    case 'failed':
      acquireEnded(message, 'failed', undefined, outcome.error);
      return;
    case 'aborted':
      acquireEnded(message, 'aborted', undefined, outcome.reason);
      return;
    case 'lockHeld':
    case 'timeout':
      acquireEnded(message, outcome.type, undefined, undefined);
  }
}

function timeoutText({ locks }: Wanted, waitMs: number, present: Present, wait?: LockWait): string {
  const limit = waitMs === 0 ? 'no answer in time' : `not granted within ${waitMs} ms`;
  const text = `${locksText(locks)}: ${limit} (${present().session.describe()})`;
  return wait === undefined ? text : `${text}; ${describeWait(wait)}`;
}

function heldText({ locks }: Wanted, { session, label, token }: Holder): string {
  const which = locks.length === 1 ? locksText(locks) : `one of ${locksText(locks)}`;
  if (session === 0) return `${which} is delayed, since its holder under token ${token} was lost`;
  const who = label === '' ? `session ${session}` : `session ${session} ${JSON.stringify(label)}`;
  return token === 0 ? `${which} is kept for ${who}, which waits for another lock, too` : `${which} is held by ${who}`;
}

/** Looks at the lease first: the timer that watches it may be late. */
function lossOf(held: HeldLock): LockLostError | undefined {
  try {
    held.assertHeld();
    return undefined;
  } catch {
    return held.loss;
  }
}

/** Only where there is room for one; the loss itself needs none. */
function attachCause(error: unknown, loss: LockLostError): void {
  if (!(error instanceof Error) || error === loss || error.cause !== undefined || !Object.isExtensible(error)) return;
  if (loss.reason === 'released') return;
  Object.defineProperty(error, 'cause', { value: loss, configurable: true, writable: true, enumerable: false });
}
