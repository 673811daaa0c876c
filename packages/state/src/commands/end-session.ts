/**
 * closeSession and expireSession: a session ends with all its ephemeral nodes, waits and holds, in one entry. Everything goes first,
 * in order of creation; then the locks that it touched are granted on, in order of their names.
 */

import type { Command, LossReason, Reply } from '@holdfast/protocol';

import type { Lock } from '../locks/lock.ts';
import type { Session } from '../sessions/session.ts';
import { DONE, errorReply } from '../replies.ts';
import type { State } from '../state.ts';
import { compareText } from '../text.ts';

export function closeSession(state: State, own: Session, command: Extract<Command, { type: 'closeSession' }>): Reply {
  const session = command.session === 0 ? own : state.sessions.get(command.session);
  if (session === undefined)
    return errorReply('NOT_FOUND', `there is no session ${command.session}; it may have ended already`);
  endSession(state, session, session === own ? 'closed' : 'revoked');
  return DONE;
}

/** Without effect when the session has ended, or was attached again after the leader decided. */
export function expireSession(state: State, command: Extract<Command, { type: 'expireSession' }>): void {
  const session = state.sessions.get(command.session);
  if (session?.generation === command.generation) endSession(state, session, 'expired');
}

/** For the state with which a new cluster begins: nobody is granted anything, since nobody is left. */
export function endEverySession(state: State): void {
  endTogether(state, state.sessions.inOrder());
}

function endSession(state: State, session: Session, reason: LossReason): void {
  endTogether(state, [session]);
  state.ended = { session: session.id, reason };
}

function endTogether(state: State, sessions: readonly Session[]): void {
  const touched = new Set<Lock>();
  for (const session of sessions) {
    removeEphemerals(state, session);
    for (const acquire of session.acquiresInOrder()) {
      state.locks.remove(acquire, state.index);
      touched.add(acquire.lock);
    }
    state.sessions.remove(session);
    state.fold.mix(session.id);
  }
  for (const lock of [...touched].sort((left, right) => compareText(left.name, right.name))) {
    state.locks.settle(lock, state.index, state.stamp, state.events);
  }
}

function removeEphemerals(state: State, session: Session): void {
  const { nodes, index } = state;
  const inOrder = [...session.ephemerals].sort(
    (left, right) => nodes.czxid(left) - nodes.czxid(right) || compareText(nodes.name(left), nodes.name(right)),
  );
  session.ephemerals.clear();
  for (const node of inOrder) nodes.remove(node, index);
}
