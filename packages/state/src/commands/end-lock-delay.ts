/**
 * endLockDelay: the delay of a lock is over, by the leader's clock; whoever may have the lock now is granted it in the same entry. Without effect
 * where another hold was lost since the leader decided, or an operator has ended the delay: the index says which one is meant.
 */

import type { Command } from '@holdfast/protocol';

import type { State } from '../state.ts';

export function endLockDelay(state: State, { lock, index }: Extract<Command, { type: 'endLockDelay' }>): void {
  const ended = endDelay(state, lock, index);
  state.digest.mix(ended ? 1 : 0);
}

/** False, without effect, for a lock that is not delayed by that index. */
export function endDelay(state: State, lock: string, index: number): boolean {
  if (!state.locks.endDelay(lock, index)) return false;
  state.events.push({ type: 'lockDelayEnded', lock, index });
  state.locks.grantPending(state.index, state.stamp, state.events);
  return true;
}
