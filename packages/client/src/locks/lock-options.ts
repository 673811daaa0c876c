/** What a lock object is made with, and every acquire of it asks for. */

import { MAX_LOCK_DELAY_MS } from '@holdfast/protocol';
import { InvalidArgumentError } from '../errors.ts';
import type { Wanted } from './wanted.ts';

/**
 * What becomes of a wait that is in a deadlock. `wait`: it goes on, until somebody gives way. `abort-youngest`: of the waits of the deadlock that
 * say so the youngest ends with DeadlockError, by the very step that closes it.
 *
 * @example
 * const lock = client.lock('accounts/42', { deadlockPolicy: 'abort-youngest' });
 */
export type DeadlockPolicy = 'wait' | 'abort-youngest';

/**
 * What any lock can be made with.
 *
 * @example
 * const lock = client.lock('accounts/42', { lockDelayMs: 5_000, deadlockPolicy: 'abort-youngest' });
 */
export interface LockOptions {
  /**
   * When a hold by this object is lost, since its session has expired or was closed by force, or since an operator has revoked it, the next grant
   * of the lock waits for so long: what the lost holder has sent can arrive before another writes. Not after a release, nor when the client
   * closes. A second line behind fencing tokens, for resources that check none. A whole number from 0 to 60,000. @default 0: the next in line
   * is granted it at once
   */
  readonly lockDelayMs?: number;
  /**
   * The ensemble knows sessions, not tasks: where several tasks of one client hold and wait for different locks, it may see a deadlock that is none,
   * and `abort-youngest` ends a wait that need not have ended. Use it where that can be tried again, or give each task a client of its own.
   * @default 'wait'
   */
  readonly deadlockPolicy?: DeadlockPolicy;
}

export const LOCK_OPTIONS: Record<keyof LockOptions, true> = { lockDelayMs: true, deadlockPolicy: true };

/** The same with these options; what they do not name stays as it is. @throws InvalidArgumentError */
export function withOptions(wanted: Wanted, { lockDelayMs = wanted.lockDelayMs, deadlockPolicy }: LockOptions): Wanted {
  if (!(Number.isInteger(lockDelayMs) && lockDelayMs >= 0 && lockDelayMs <= MAX_LOCK_DELAY_MS))
    throw new InvalidArgumentError(
      `lockDelayMs is ${String(lockDelayMs)}; it must be a whole number from 0 to ${MAX_LOCK_DELAY_MS}`,
    );
  const policy: unknown = deadlockPolicy ?? (wanted.abortInDeadlock ? 'abort-youngest' : 'wait');
  if (policy !== 'wait' && policy !== 'abort-youngest')
    throw new InvalidArgumentError(
      `deadlockPolicy is ${JSON.stringify(policy)}; it must be "wait" or "abort-youngest"`,
    );
  return { ...wanted, lockDelayMs, abortInDeadlock: policy === 'abort-youngest' };
}
