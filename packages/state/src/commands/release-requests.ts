/**
 * requestRelease and enforceRelease: an operator asks whoever holds a lock to give it back. The request stays with the hold, one at a time, and ends
 * with it. How much time is over is for the leader to know; what it proposes names the request, and is checked again here.
 */

import type { Command, Reply } from '@holdfast/protocol';

import { lockProblem } from '../locks/lock-name.ts';
import type { Lock, QueuedAcquire } from '../locks/lock.ts';
import { packReleaseRequest } from '../locks/release-request.ts';
import { DONE, errorReply, invalidLockReply } from '../replies.ts';
import type { Session } from '../sessions/session.ts';
import type { State } from '../state.ts';
import { takeAway } from './revoke.ts';
import { treeLimitReply } from './tree-limits.ts';

export function requestRelease(
  state: State,
  { label }: Session,
  command: Extract<Command, { type: 'requestRelease' }>,
): Reply {
  const { lock: name, acquireIndex, withinMs, revokes } = command;
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  const hold = holdOf(state.locks.get(name), acquireIndex);
  if (hold === undefined) {
    return errorReply('NOT_FOUND', `lock ${name} has no hold ${acquireIndex}; it may have been given back already`);
  }
  const { index, stamp, locks } = state;
  const request = { index, askedAt: stamp, withinMs, revokes, by: label };
  const full = treeLimitReply(state, 0, 0, packReleaseRequest(request).length);
  if (full !== undefined) return full;
  const { session, lead } = hold;
  locks.requestRelease(lead, request);
  state.events.push({ type: 'releaseRequested', session: session.id, lock: lead.lock.name, acquireIndex, request });
  return DONE;
}

/** Without effect when the hold is gone, or another request has taken the place of that one. */
export function enforceRelease(state: State, command: Extract<Command, { type: 'enforceRelease' }>): void {
  const { lock, acquireIndex, request } = command;
  const hold = holdOf(state.locks.get(lock), acquireIndex);
  const present = hold?.lead.releaseRequest;
  state.events.push({ type: 'releaseEnforced', request });
  const revoked = hold !== undefined && present?.index === request && present.revokes;
  state.digest.mix(revoked ? 1 : 0);
  if (!revoked) return;
  takeAway(state, hold);
  state.locks.grantPending(state.index, state.stamp, state.events);
}

function holdOf(lock: Lock | undefined, acquireIndex: number): QueuedAcquire | undefined {
  for (const holder of lock?.holders ?? []) if (holder.acquireIndex === acquireIndex) return holder;
  return undefined;
}
