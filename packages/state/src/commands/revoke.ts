/**
 * revoke: an operator ends somebody's wait or hold, whose session lives on. Its holder may not hear of it for long, and others may hold the lock
 * beside it under lower tokens: they all get the index of this entry, and so whoever has been told it can refuse the hold, be there a
 * successor or not.
 */

import type { Command, Reply } from '@holdfast/protocol';

import type { QueuedAcquire } from '../locks/lock.ts';
import { errorReply, quoted } from '../replies.ts';
import type { State } from '../state.ts';

export function revoke(state: State, command: Extract<Command, { type: 'revoke' }>): Reply {
  const { lock, session, acquireIndex } = command;
  const owner = state.sessions.get(session);
  const acquire = owner && state.locks.acquiresOf(owner).get(acquireIndex);
  if (acquire?.lock.name !== lock) {
    return errorReply(
      'NOT_FOUND',
      `session ${session} has no wait or hold ${acquireIndex} of lock ${quoted(lock)}: it is over already, or never was; look at the lock again`,
    );
  }
  revokeAcquire(state, acquire);
  return { type: 'revoked', token: state.index };
}

/** Ends it as an operator does, and says so to its holder. */
export function revokeAcquire(state: State, acquire: QueuedAcquire): void {
  const { session, lock, acquireIndex } = acquire;
  state.locks.remove(acquire, state.index);
  state.events.push({ type: 'lost', session: session.id, lock: lock.name, acquireIndex, reason: 'revoked' });
  if (acquire.token !== 0) state.locks.raiseTokens(lock, state.index);
  state.locks.grantPending(lock, state.index, state.stamp, state.events);
}
