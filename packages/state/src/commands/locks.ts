/** acquire, release and cancel: each does all of its work, grants to others included, in its own entry. */

import { MalformedError, type Command, type LockRequest, type Packable, type Reply } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import { lockProblem, MAX_CONTAINER_NAME_LENGTH, MAX_QUEUE_NODE_NAME_LENGTH } from '../locks/lock-name.ts';
import { packRequest, readRequest, type LockKind } from '../locks/kinds/lock-kind.ts';
import type { Lock, QueuedAcquire } from '../locks/lock.ts';
import { acquireBytes } from '../locks/session-acquires.ts';
import { isReply, type CachedReply } from '../sessions/answer-cost.ts';
import type { Session } from '../sessions/session.ts';
import { DONE, errorReply, invalidLockReply, unsupportedReply, type ErrorReply } from '../replies.ts';
import type { State } from '../state.ts';
import { treeLimitReply } from './tree-limits.ts';

/** Nodes that an acquire may add, the container and the queue node, and what their names take at most. */
const NODES_PER_ACQUIRE = 2;
const NAME_BYTES_PER_ACQUIRE = MAX_CONTAINER_NAME_LENGTH + MAX_QUEUE_NODE_NAME_LENGTH;

export function acquire(state: State, session: Session, command: Extract<Command, { type: 'acquire' }>): CachedReply {
  const { lock: name } = command;
  const kind = state.rules.lockKinds[command.kind];
  if (kind === undefined) return unsupportedReply(`lock kind ${command.kind}`, state.version);
  const request = requestOrError(kind, command.parameters ?? []);
  if (request.type === 'error') return request;
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  const lock = state.locks.get(name);
  if (lock !== undefined && lock.kind !== kind) {
    return errorReply('INVALID_ARGUMENT', `lock ${name} is in use with another kind; use one kind for a lock`);
  }
  if (!command.wait && lock !== undefined && !lock.admits(request)) return heldReply(lock);
  const parameters = packRequest(kind, request);
  const full =
    acquireLimitReply(state, session, name) ??
    treeLimitReply(state, NODES_PER_ACQUIRE, NAME_BYTES_PER_ACQUIRE, parameters?.length ?? 0);
  if (full !== undefined) return full;
  return state.locks.enqueue(session, name, { kind, request, parameters }, state.index, state.stamp);
}

function requestOrError(kind: LockKind, parameters: readonly Packable[]): LockRequest | ErrorReply {
  try {
    return readRequest(kind, parameters);
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    return errorReply('INVALID_ARGUMENT', error.message);
  }
}

export function release(state: State, session: Session, command: Extract<Command, { type: 'release' }>): Reply {
  const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);
  if (acquired === undefined) return notHeldReply(command.lock, command.acquireIndex);
  if (acquired.token === 0) {
    return errorReply(
      'NOT_HELD',
      `acquire ${command.acquireIndex} of lock ${command.lock} still waits: cancel ends a wait, release only a hold`,
    );
  }
  giveUp(state, acquired);
  return DONE;
}

export function cancel(state: State, session: Session, command: Extract<Command, { type: 'cancel' }>): Reply {
  const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);
  if (acquired === undefined) return notHeldReply(command.lock, command.acquireIndex);
  giveUp(state, acquired);
  return { type: 'cancelled', token: acquired.token };
}

/** The answer that a request gets when it comes again. An acquire's is its present state, so that a retry learns of a grant or a loss. */
export function presentReply(cached: CachedReply): Reply {
  if (isReply(cached)) return cached;
  const { acquireIndex, token, lock } = cached;
  if (!cached.gone) return { type: 'acquire', acquireIndex, token };
  const fate =
    token === 0
      ? 'ended before it was granted'
      : `was granted under token ${token} and is over: released or revoked since`;
  return errorReply('NOT_HELD', `acquire ${acquireIndex} of lock ${lock.name} ${fate}; acquire again`);
}

function giveUp(state: State, acquired: QueuedAcquire): void {
  state.locks.remove(acquired, state.index);
  state.locks.grantPending(acquired.lock, state.index, state.stamp, state.events);
}

function ownAcquire(state: State, session: Session, lock: string, acquireIndex: number): QueuedAcquire | undefined {
  const acquired = state.locks.acquiresOf(session).get(acquireIndex);
  return acquired?.lock.name === lock ? acquired : undefined;
}

function notHeldReply(lock: string, acquireIndex: number): Reply {
  return errorReply(
    'NOT_HELD',
    `this session has no acquire ${acquireIndex} of lock ${lock}: it was released, cancelled or revoked, or never was`,
  );
}

function heldReply(lock: Lock): Reply {
  const holder = lock.holders.first;
  invariant(holder !== undefined, 'a lock that exists has a holder');
  const { session, token, acquireIndex } = holder;
  return { type: 'lockHeld', holder: { session: session.id, label: session.label, token, acquireIndex } };
}

function acquireLimitReply(state: State, session: Session, lock: string): Reply | undefined {
  const { maxAcquiresPerSession, maxAcquireListBytes } = state.limits;
  const { size, listBytes } = state.locks.acquiresOf(session);
  if (size >= maxAcquiresPerSession) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the session has ${size} waits and holds, at most ${maxAcquiresPerSession}; release some, or use more sessions`,
    );
  }
  if (listBytes + acquireBytes(lock) > maxAcquireListBytes) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the waits and holds of the session take ${listBytes} bytes, at most ${maxAcquireListBytes}; release some, or use more sessions`,
    );
  }
  return undefined;
}
