/**
 * closeSession, expireSession and continueEnd: a session ends with all its ephemeral nodes, waits and holds. Waits and holds go in the
 * entry that ends it, in order of their indexes; then the locks that it touched are granted on, in order of their names. Its nodes go
 * with them, the oldest first, or, where they are too many for one entry, over the entries that the leader proposes next. Until the last is gone the session
 * is over and not ended: it can be used for nothing, and nobody is notified that it has ended, since something of it is left.
 */

import type { Command, EndReason, Reply } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { Session } from '../sessions/session.ts';
import { DONE, errorReply } from '../replies.ts';
import type { State } from '../state.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';

/** Nodes beyond twice the wanted ones that are gathered before they are sorted. */
const SLACK = 64;

/**
 * `number`: that of the request. Another's session is over with the answer, though nodes of it may be left for a moment; the own close is
 * answered when none is.
 */
export function closeSession(
  state: State,
  own: Session,
  command: Extract<Command, { type: 'closeSession' }>,
  number: number,
): Reply {
  const session = command.session === 0 ? own : state.sessions.get(command.session);
  if (session === undefined)
    return errorReply('NOT_FOUND', `there is no session ${command.session}; it may have ended already`);
  if (session.ending !== undefined) return DONE;
  if (session === own) endSession(state, session, 'closed', number);
  else endSession(state, session, 'revoked', 0);
  return DONE;
}

/** Without effect when the session has ended, or was attached again after the leader decided. */
export function expireSession(state: State, command: Extract<Command, { type: 'expireSession' }>): void {
  const session = state.sessions.get(command.session);
  if (session === undefined || session.ending !== undefined) return;
  if (session.generation === command.generation) endSession(state, session, 'expired', 0);
  else state.events.push({ type: 'sessionSurvived', session: session.id });
}

/** Without effect for a session that is not ending: two leaders may have proposed its last. */
export function continueEnd(state: State, command: Extract<Command, { type: 'continueEnd' }>): void {
  const session = state.sessions.get(command.session);
  state.events.push({ type: 'endContinued', session: command.session });
  if (session?.ending === undefined) return;
  const { reason, number } = session.ending;
  removeNodes(state, session, state.limits.maxNodesPerEnd);
  state.digest.mix(session.id);
  if (session.ephemerals.size > 0) return;
  const { id, generation } = session;
  if (number !== 0) state.events.push({ type: 'reply', session: id, generation, number, reply: DONE });
  forget(state, session);
  state.ended = { session: id, reason };
}

/** For the state with which a new cluster begins: nobody is granted anything, since nobody is left. */
export function endEverySession(state: State): void {
  for (const session of state.sessions.inOrder()) {
    removeNodes(state, session, session.ephemerals.size);
    delayLocks(state, session);
    removeAcquires(state, session);
    forget(state, session);
    state.digest.mix(session.id);
  }
  state.locks.grantPending(state.index, state.stamp, state.events);
}

function endSession(state: State, session: Session, reason: EndReason, number: number): void {
  const { maxNodesPerEnd } = state.limits;
  const whole = session.ephemerals.size <= maxNodesPerEnd;
  removeNodes(state, session, maxNodesPerEnd);
  if (!whole) reportLosses(state, session, reason);
  // Who closes its session gives its locks back.
  if (reason !== 'closed') delayLocks(state, session);
  removeAcquires(state, session);
  if (whole) {
    forget(state, session);
    state.ended = { session: session.id, reason };
  } else {
    state.sessions.beginEnd(session, { reason, number });
    state.events.push({ type: 'sessionEnding', session: session.id });
  }
  state.digest.mix(session.id);
  state.locks.grantPending(state.index, state.stamp, state.events);
}

/** The end itself is reported when nothing is left, which for its waits and holds would be late. */
function reportLosses(state: State, session: Session, reason: EndReason): void {
  for (const { lock, acquireIndex } of state.locks.acquiresOf(session).inOrder()) {
    state.events.push({ type: 'lost', session: session.id, lock: lock.name, acquireIndex, reason });
  }
}

/** Nothing of it is left. */
function forget(state: State, session: Session): void {
  invariant(state.locks.acquiresOf(session).size === 0, 'a session that ends waits for nothing and holds nothing');
  state.sessions.remove(session);
}

function delayLocks(state: State, session: Session): void {
  for (const acquire of state.locks.acquiresOf(session).inOrder()) {
    state.locks.delay(acquire, state.index, state.stamp);
  }
}

function removeAcquires(state: State, session: Session): void {
  for (const acquire of state.locks.acquiresOf(session).inOrder()) state.locks.remove(acquire, state.index);
}

function removeNodes(state: State, { ephemerals }: Session, count: number): void {
  for (const node of oldest(state.nodes, ephemerals, count)) {
    ephemerals.delete(node);
    state.nodes.remove(node, state.index);
  }
}

/**
 * So many, the oldest first, whatever order they come in: the order of a set is not part of the state. Those of one transaction, which are
 * of one age, go in order of their slots, which are the same on every server. As a rule they come in order of their creation; then all but
 * the first cost one comparison.
 */
function oldest(nodes: NodeStore, all: Iterable<NodeSlot>, count: number): readonly NodeSlot[] {
  const inOrder = (left: NodeSlot, right: NodeSlot): number => nodes.czxid(left) - nodes.czxid(right) || left - right;
  const kept: NodeSlot[] = [];
  let last: NodeSlot | undefined;
  for (const node of all) {
    if (last !== undefined && inOrder(node, last) > 0) continue;
    kept.push(node);
    if (kept.length < 2 * count + SLACK) continue;
    kept.sort(inOrder);
    kept.length = count;
    last = kept[count - 1];
  }
  kept.sort(inOrder);
  return kept.slice(0, count);
}
