/** A hold or wait is taken away by somebody else: an operator by name, or whoever deletes its queue node. Operators end delays of locks so, too. */

import type { Command, Reply } from '@holdfast/protocol';

import { lockProblem } from '../locks/lock-name.ts';
import type { Lock, QueuedAcquire } from '../locks/lock.ts';
import { errorReply, invalidLockReply } from '../replies.ts';
import type { State } from '../state.ts';
import { endDelay } from './end-lock-delay.ts';

/** `LockTable.grantPending` must follow before the entry ends. */
export function takeAway(state: State, acquire: QueuedAcquire): void {
  const { session, lead, acquireIndex } = acquire;
  state.locks.delay(acquire, state.index, state.stamp);
  state.locks.remove(acquire, state.index);
  state.events.push({ type: 'lost', session: session.id, lock: lead.lock.name, acquireIndex, reason: 'revoked' });
}

export function revoke(state: State, { lock: name, acquireIndex }: Extract<Command, { type: 'revoke' }>): Reply {
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  const acquire = find(state.locks.get(name), acquireIndex);
  if (acquire === undefined) {
    // What stands in the way of the next may be a delay, which is named as an acquire is: by the index of its entry.
    if (endDelay(state, name, acquireIndex)) return { type: 'revoked', index: state.index };
    return errorReply('NOT_FOUND', `lock ${name} has no acquire ${acquireIndex}; it may have been given back already`);
  }
  takeAway(state, acquire);
  state.locks.grantPending(state.index, state.stamp, state.events);
  return { type: 'revoked', index: state.index };
}

function find(lock: Lock | undefined, acquireIndex: number): QueuedAcquire | undefined {
  if (lock === undefined) return undefined;
  for (const list of [lock.holders, lock.waiters]) {
    for (const acquire of list) if (acquire.acquireIndex === acquireIndex) return acquire;
  }
  return undefined;
}
