/**
 * acquire, acquireSeveral, acquireWith, release, cancel and downgrade: each does all of its work, grants to others included, in its own entry. One
 * acquire of several locks is a wait or hold of all of them: who names one of its locks means the whole.
 */

import type { Command, Reply } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import { NO_OPTIONS, packOptions, type AcquireOptions } from '../locks/acquire-options.ts';
import { packRequest } from '../locks/kinds/lock-kind.ts';
import { acquireBytes } from '../locks/session-acquires.ts';
import type { Lock, QueuedAcquire } from '../locks/lock.ts';
import { isReply, type CachedReply } from '../sessions/answer-cost.ts';
import type { Session } from '../sessions/session.ts';
import { compareText } from '../text.ts';
import { DONE, errorReply, type ErrorReply } from '../replies.ts';
import type { State } from '../state.ts';
import { wantedOrError, type WantedByKind } from './wanted-lock.ts';
import { treeLimitReply } from './tree-limits.ts';
import { MAX_CONTAINER_NAME_LENGTH, MAX_QUEUE_NODE_NAME_LENGTH } from '../locks/lock-name.ts';

/** Nodes that a lock may add, the container and the queue node, and what their names take at most. */
const NODES_PER_LOCK = 2;
const NAME_BYTES_PER_LOCK = MAX_CONTAINER_NAME_LENGTH + MAX_QUEUE_NODE_NAME_LENGTH;

export function acquire(state: State, session: Session, command: Extract<Command, { type: 'acquire' }>): CachedReply {
  const wanted = wantedOrError(state, command);
  if ('type' in wanted) return wanted;
  const { lock: name, kind, request } = wanted;
  const lock = state.locks.get(name);
  if (!command.wait && lock !== undefined && !lock.admits(request)) return heldReply(lock);
  const parameters = packRequest(kind, request);
  const full =
    acquireLimitReply(state, session, name, 1) ??
    treeLimitReply(state, NODES_PER_LOCK, NAME_BYTES_PER_LOCK, parameters?.length ?? 0);
  if (full !== undefined) return full;
  return state.locks.enqueue(session, name, { kind, request, parameters, options: NO_OPTIONS }, state);
}

/** Of one lock or several, with options or without. */
export function acquireSeveral(
  state: State,
  session: Session,
  command: Extract<Command, { type: 'acquireSeveral' | 'acquireWith' }>,
): CachedReply {
  const all: WantedByKind[] = [];
  for (const asked of command.locks) {
    const wanted = wantedOrError(state, asked);
    if ('type' in wanted) return wanted;
    all.push(wanted);
  }
  all.sort((left, right) => compareText(left.lock, right.lock));
  const [first, second] = all;
  if (first === undefined) return errorReply('INVALID_ARGUMENT', 'an acquire of no lock: name at least one');
  const repeated = all.find(({ lock }, place) => all[place + 1]?.lock === lock);
  if (repeated !== undefined) {
    return errorReply('INVALID_ARGUMENT', `lock ${repeated.lock} is named twice; name each lock once`);
  }
  if (!command.wait) {
    for (const { lock: name, request } of all) {
      const lock = state.locks.get(name);
      if (lock !== undefined && !lock.admits(request)) return heldReply(lock);
    }
  }
  const options = optionsOf(command);
  // Not by a spread, which takes longer than all else of an acquire.
  const wanted = all.map(({ lock, kind, request }) => {
    return { lock, kind, request, parameters: packRequest(kind, request), options };
  });
  let bytes = (packOptions(options)?.length ?? 0) * all.length;
  for (const { parameters } of wanted) bytes += parameters?.length ?? 0;
  const full =
    acquireLimitReply(state, session, first.lock, all.length) ??
    delayLimitReply(state, options, all.length) ??
    treeLimitReply(state, NODES_PER_LOCK * all.length, NAME_BYTES_PER_LOCK * all.length, bytes);
  if (full !== undefined) return full;
  const { locks } = state;
  const [only] = wanted;
  if (second === undefined && only !== undefined) return locks.enqueue(session, only.lock, only, state);
  return locks.enqueueSeveral(session, wanted, state);
}

export function release(state: State, session: Session, command: Extract<Command, { type: 'release' }>): Reply {
  const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);
  if (acquired === undefined) return notHeldReply(command.lock, command.acquireIndex);
  if (acquired.token === 0) return stillWaitsReply(acquired, 'release only a hold');
  giveUp(state, acquired);
  return DONE;
}

export function cancel(state: State, session: Session, command: Extract<Command, { type: 'cancel' }>): Reply {
  const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);
  if (acquired === undefined) return notHeldReply(command.lock, command.acquireIndex);
  giveUp(state, acquired);
  return { type: 'cancelled', token: acquired.token };
}

export function downgrade(state: State, session: Session, command: Extract<Command, { type: 'downgrade' }>): Reply {
  const { lock: name, acquireIndex } = command;
  const hold = ownAcquire(state, session, name, acquireIndex);
  if (hold === undefined) return notHeldReply(name, acquireIndex);
  if (hold.token === 0) return stillWaitsReply(hold, 'downgrade changes a hold');
  const { kind } = hold.lock;
  const request = kind.downgraded(hold.request);
  if (request === undefined) {
    return errorReply(
      'INVALID_ARGUMENT',
      `acquire ${acquireIndex} of lock ${name} holds it in no way that can be downgraded: that is only for who holds a read-write lock to write`,
    );
  }
  state.locks.change(hold, request, packRequest(kind, request));
  state.locks.grantPending(state.index, state.stamp, state.events);
  return DONE;
}

/** The answer that a request gets when it comes again. An acquire's is its present state, so that a retry learns of a grant or a loss. */
export function presentReply(cached: CachedReply): Reply {
  if (isReply(cached)) return cached;
  const { acquireIndex, token, lock } = cached;
  if (!cached.gone) {
    const { floor } = cached;
    return floor === 0 ? { type: 'acquire', acquireIndex, token } : { type: 'acquire', acquireIndex, token, floor };
  }
  const fate =
    token === 0
      ? 'ended before it was granted'
      : `was granted under token ${token} and is over: released or revoked since`;
  return errorReply('NOT_HELD', `acquire ${acquireIndex} of lock ${lock.name} ${fate}; acquire again`);
}

function giveUp(state: State, acquired: QueuedAcquire): void {
  state.locks.remove(acquired, state.index);
  state.locks.grantPending(state.index, state.stamp, state.events);
}

/** Its place in the queue of that lock. */
function ownAcquire(state: State, session: Session, lock: string, acquireIndex: number): QueuedAcquire | undefined {
  return state.locks.acquiresOf(session).get(acquireIndex)?.partAt(lock);
}

function notHeldReply(lock: string, acquireIndex: number): Reply {
  return errorReply(
    'NOT_HELD',
    `this session has no acquire ${acquireIndex} of lock ${lock}: it was released, cancelled or revoked, or never was`,
  );
}

function stillWaitsReply({ acquireIndex, lock }: QueuedAcquire, advice: string): ErrorReply {
  return errorReply(
    'NOT_HELD',
    `acquire ${acquireIndex} of lock ${lock.name} still waits: cancel ends a wait, ${advice}`,
  );
}

/** Who holds it; where nobody does, whose loss delays it, or who waits first, with others of its locks. */
function heldReply({ first, holders, delay }: Lock): Reply {
  if (delay !== undefined && holders.size === 0)
    return { type: 'lockHeld', holder: { session: 0, label: '', token: delay.token, acquireIndex: 0 } };
  invariant(first !== undefined, 'a lock that exists is held, waited for or delayed');
  const { session, token, acquireIndex } = first;
  return { type: 'lockHeld', holder: { session: session.id, label: session.label, token, acquireIndex } };
}

function optionsOf(command: Extract<Command, { type: 'acquireSeveral' | 'acquireWith' }>): AcquireOptions {
  if (command.type === 'acquireSeveral') return NO_OPTIONS;
  const { lockDelayMs, abortInDeadlock } = command;
  return { lockDelayMs, abortInDeadlock };
}

function delayLimitReply(
  { locks, limits }: State,
  { lockDelayMs }: AcquireOptions,
  places: number,
): ErrorReply | undefined {
  const { claims } = locks.delayed;
  if (lockDelayMs === 0 || claims + places <= limits.maxLockDelays) return undefined;
  return errorReply(
    'LIMIT_EXCEEDED',
    `there are ${claims} locks that are delayed or may become so, at most ${limits.maxLockDelays}; acquire without lockDelayMs, or try again later`,
  );
}

/** @param lock by whose name the acquire is known, among so many */
function acquireLimitReply(state: State, session: Session, lock: string, locks: number): Reply | undefined {
  const { maxAcquiresPerSession, maxAcquireListBytes } = state.limits;
  const { size, listBytes } = state.locks.acquiresOf(session);
  if (size + locks > maxAcquiresPerSession) {
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
