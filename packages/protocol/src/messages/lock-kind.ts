/**
 * The kinds of locks: the number of each, and what a request for such a lock carries beside the lock's name. Who may hold together is for
 * the state machine to know.
 */

import type { Command } from './command.ts';
import { MAX_HOLD_ENTRIES, MAX_PERMITS } from '../limits.ts';
import { choice, integer, integerWithin, type ValueOf } from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';

const LOCK_MODES = ['read', 'write'] as const;
/**
 * How a read-write lock is held.
 *
 * @example
 * const mode: LockMode = 'read';
 */
export type LockMode = (typeof LOCK_MODES)[number];

export const lockKinds = messages('kind of lock', {
  /** One holder. */
  mutex: message(0, {}),
  /** Any number of readers, or one writer. */
  readWrite: message(1, { mode: choice(LOCK_MODES) }),
  /** Holders that have no more than `permits` together; `count`: how many this one wants. */
  semaphore: message(2, { permits: integerWithin(1, MAX_PERMITS), count: integerWithin(1, MAX_PERMITS) }),
  /**
   * One owner, who may enter again while it holds, up to `limit` times in all, and leaves as often. `owner`: the client's choice, of which
   * its session has one each.
   */
  reentrant: message(3, { owner: integer(), limit: integerWithin(1, MAX_HOLD_ENTRIES) }),
});

/** What is asked of a lock: its kind by `type`, with the parameters of that kind. */
export type LockRequest = ValueOf<typeof lockKinds>;

export const LockKind = lockKinds.numbers;

export const MUTEX: LockRequest = { type: 'mutex' };

/** `wait` false: leaves nothing when the lock is not free. */
export function acquireCommand(lock: string, request: LockRequest, wait: boolean): Command {
  const parameters = lockKinds.writeFields(request);
  return { type: 'acquire', lock, kind: LockKind[request.type], wait, parameters };
}

/** The hold is of that kind, and asks for that from now on: for less. */
export function convertCommand(lock: string, acquireIndex: number, request: LockRequest): Command {
  return { type: 'convert', lock, acquireIndex, parameters: lockKinds.writeFields(request) };
}
