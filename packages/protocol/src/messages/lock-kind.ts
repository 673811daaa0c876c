/**
 * The kinds of locks: the number of each, and what a request for such a lock carries beside the lock's name. Who may hold together is for
 * the state machine to know.
 */

import type { Command } from './command.ts';
import type { ValueOf } from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';

export const lockKinds = messages('kind of lock', {
  mutex: message(0, {}),
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
