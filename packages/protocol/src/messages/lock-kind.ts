/**
 * The kinds of locks: the number of each, and what a request for such a lock carries beside the lock's name. Who may hold together is for
 * the state machine to know.
 */

import { MAX_PERMITS } from '../limits.ts';
import { flag, integerWithin, type ValueOf } from '../schema/field.ts';
import type { Command, WantedLock } from './command.ts';
import { message, messages } from '../schema/messages.ts';

export const lockKinds = messages('kind of lock', {
  mutex: message(0, {}),
  /** To write is to hold it alone; those who read hold it together. */
  readWrite: message(1, { write: flag() }),
  /** `permits` of the `limit` that there are; who uses the lock names the same limit as all others. */
  semaphore: message(2, { permits: integerWithin(1, MAX_PERMITS), limit: integerWithin(1, MAX_PERMITS) }),
});

/** What is asked of a lock: its kind by `type`, with the parameters of that kind. */
export type LockRequest = ValueOf<typeof lockKinds>;

export const LockKind = lockKinds.numbers;

export const MUTEX: LockRequest = { type: 'mutex' };

type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>;

/** `wait` false: leaves nothing when the lock is not free. */
export function acquireCommand(lock: string, request: LockRequest, wait: boolean): CommandOf<'acquire'> {
  return { type: 'acquire', lock, kind: LockKind[request.type], parameters: lockKinds.writeFields(request), wait };
}

/** All of these locks at once, or none. */
export function acquireSeveralCommand(
  locks: readonly { readonly lock: string; readonly asked: LockRequest }[],
  wait: boolean,
): CommandOf<'acquireSeveral'> {
  return { type: 'acquireSeveral', locks: locks.map(({ lock, asked }) => wanted(lock, asked)), wait };
}

/** What an acquire asks for beside its locks: see `acquireWith`. */
export interface AcquireOptions {
  readonly lockDelayMs: number;
  readonly abortInDeadlock: boolean;
}

/** The same with options. */
export function acquireWithCommand(
  locks: readonly { readonly lock: string; readonly asked: LockRequest }[],
  wait: boolean,
  { lockDelayMs, abortInDeadlock }: AcquireOptions,
): CommandOf<'acquireWith'> {
  const all = locks.map(({ lock, asked }) => wanted(lock, asked));
  return { type: 'acquireWith', locks: all, wait, lockDelayMs, abortInDeadlock };
}

function wanted(lock: string, request: LockRequest): WantedLock {
  return { lock, kind: LockKind[request.type], parameters: lockKinds.writeFields(request) };
}
