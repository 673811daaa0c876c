/** acquire, release, cancel and convert: each does all of its work, grants to others included, in its own entry. */

import { MalformedError, type Command, type LockRequest, type Packable, type Reply } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import { lockProblem, MAX_CONTAINER_NAME_LENGTH, MAX_QUEUE_NODE_NAME_LENGTH } from '../locks/lock-name.ts';
import { HOLD_ENTRIES_BYTES } from '../locks/hold-entries.ts';
import { packRequest, readRequest, type LockKind } from '../locks/kinds/lock-kind.ts';
import type { Lock, QueuedAcquire } from '../locks/lock.ts';
import { acquireBytes } from '../locks/session-acquires.ts';
import { isReply, type CachedReply } from '../sessions/answer-cost.ts';
import type { Session } from '../sessions/session.ts';
import { DONE, errorReply, invalidLockReply, unsupportedReply, type ErrorReply } from '../replies.ts';
import type { State } from '../state.ts';
import { extraBytes } from '../tree/storage/node-extras.ts';
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
  const entered =
    lock === undefined ? undefined : (clashReply(lock, kind, request) ?? reentered(state, session, lock, request));
  if (entered !== undefined) return entered;
  if (!command.wait && lock !== undefined && !lock.admits(request)) return heldReply(lock);
  const parameters = packRequest(kind, request);
  const full =
    acquireLimitReply(state, session, name, kind) ??
    treeLimitReply(
      state,
      NODES_PER_ACQUIRE,
      NAME_BYTES_PER_ACQUIRE,
      parameters === undefined ? 0 : extraBytes(parameters.length),
    );
  if (full !== undefined) return full;
  return state.locks.enqueue(session, name, { kind, request, parameters }, state.index, state.stamp);
}

/** All who use a lock at one time must mean the same by it. */
function clashReply(lock: Lock, kind: LockKind, request: LockRequest): ErrorReply | undefined {
  if (lock.kind !== kind) {
    return errorReply('INVALID_ARGUMENT', `lock ${lock.name} is in use with another kind; use one kind for a lock`);
  }
  const clash = kind.clash?.(holderOf(lock).request, request);
  return clash === undefined ? undefined : errorReply('INVALID_ARGUMENT', `lock ${lock.name} is in use ${clash}`);
}

/** Undefined where the lock is not held by the same owner: then the request takes its turn. */
function reentered(state: State, session: Session, lock: Lock, request: LockRequest): CachedReply | undefined {
  const { kind } = lock;
  if (kind.maxEntries === undefined) return undefined;
  const holder = holderOf(lock);
  const most = holder.session === session ? kind.maxEntries(holder.request, request) : 0;
  if (most === 0) return undefined;
  const entries = state.locks.entriesOf(holder);
  if (entries >= most) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `lock ${lock.name} was entered ${entries} times by its owner, at most ${most}; leave it before it is entered again`,
    );
  }
  const full = treeLimitReply(state, 0, 0, entries === 1 ? extraBytes(HOLD_ENTRIES_BYTES) : 0);
  if (full !== undefined) return full;
  state.locks.setEntries(holder, entries + 1);
  return holder;
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

/** Its answer is how the hold is now, as that to an acquire. */
export function convert(state: State, session: Session, command: Extract<Command, { type: 'convert' }>): CachedReply {
  const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);
  if (acquired === undefined) return notHeldReply(command.lock, command.acquireIndex);
  const what = `acquire ${command.acquireIndex} of lock ${command.lock}`;
  if (acquired.token === 0) {
    return errorReply(
      'NOT_HELD',
      `${what} still waits: convert a hold when it was granted, or cancel and acquire anew`,
    );
  }
  const { lock } = acquired;
  const { kind } = lock;
  if (kind.conversionProblem === undefined) {
    return errorReply('INVALID_ARGUMENT', `${what}: a hold of kind ${kind.name} has nothing to be converted to`);
  }
  const request = requestOrError(kind, command.parameters ?? []);
  if (request.type === 'error') return request;
  const problem = kind.conversionProblem(acquired.request, request);
  if (problem !== undefined) return errorReply('INVALID_ARGUMENT', `${what}: ${problem}`);
  state.locks.convert(acquired, request, packRequest(kind, request));
  state.locks.grantPending(lock, state.index, state.stamp, state.events);
  return acquired;
}

/** The answer that a request gets when it comes again. An acquire's is its present state, so that a retry learns of a grant or a loss. */
export function presentReply(cached: CachedReply): Reply {
  if (isReply(cached)) return cached;
  const { acquireIndex, token, lock } = cached;
  if (!cached.gone) {
    const { floor } = lock;
    if (floor === undefined) return { type: 'acquire', acquireIndex, token };
    return { type: 'sharedAcquire', acquireIndex, token, floor: token === 0 ? 0 : floor };
  }
  const fate =
    token === 0
      ? 'ended before it was granted'
      : `was granted under token ${token} and is over: released or revoked since`;
  return errorReply('NOT_HELD', `acquire ${acquireIndex} of lock ${lock.name} ${fate}; acquire again`);
}

/** All of it, but for a hold that was entered several times: then one entry. */
function giveUp(state: State, acquired: QueuedAcquire): void {
  const entries = state.locks.entriesOf(acquired);
  if (entries > 1) {
    state.locks.setEntries(acquired, entries - 1);
    return;
  }
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

function holderOf({ holders }: Lock): QueuedAcquire {
  const holder = holders.first;
  invariant(holder !== undefined, 'a lock that exists has a holder');
  return holder;
}

function heldReply(lock: Lock): Reply {
  const holder = holderOf(lock);
  const { session, token, acquireIndex } = holder;
  return { type: 'lockHeld', holder: { session: session.id, label: session.label, token, acquireIndex } };
}

function acquireLimitReply(state: State, session: Session, lock: string, kind: LockKind): Reply | undefined {
  const { maxAcquiresPerSession, maxAcquireListBytes } = state.limits;
  const { size, listBytes } = state.locks.acquiresOf(session);
  if (size >= maxAcquiresPerSession) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the session has ${size} waits and holds, at most ${maxAcquiresPerSession}; release some, or use more sessions`,
    );
  }
  if (listBytes + acquireBytes(lock, kind) > maxAcquireListBytes) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the waits and holds of the session take ${listBytes} bytes, at most ${maxAcquireListBytes}; release some, or use more sessions`,
    );
  }
  return undefined;
}
