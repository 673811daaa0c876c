/**
 * attach: creates the session of a secret, or attaches to it. A repeated create is the same session, with the time-out and label of
 * its creation; each attach raises the generation, so that what earlier connections still carry is refused.
 */

import type { Command, Reply } from '@holdfast/protocol';

import { MAX_GENERATION } from '../limits.ts';
import { secretKey } from '../sessions/session-table.ts';
import type { Session } from '../sessions/session.ts';
import { errorReply } from '../replies.ts';
import type { State } from '../state.ts';

export function attach(state: State, command: Extract<Command, { type: 'attach' }>): Reply {
  const secret = secretKey(command.secret);
  const known = state.sessions.bySecret(secret);
  if (command.session !== 0 && known?.id !== command.session) {
    return errorReply('SESSION_EXPIRED', `session ${command.session} has ended or has another secret; connect anew`);
  }
  if (known !== undefined) return attachAgain(state, known);

  if (state.sessions.size >= state.limits.maxSessions) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `there are ${state.limits.maxSessions} sessions already; close some, or try again when some have expired`,
    );
  }
  const session = state.sessions.create({
    id: state.index,
    secret,
    timeoutMs: command.timeoutMs,
    label: command.label,
    createdAt: state.stamp,
  });
  state.events.push({ type: 'sessionCreated', session: session.id, timeoutMs: session.timeoutMs });
  state.fold.mix(session.id);
  return attachedReply(session);
}

function attachAgain(state: State, session: Session): Reply {
  if (session.generation >= MAX_GENERATION) {
    return errorReply('LIMIT_EXCEEDED', `session ${session.id} was attached ${MAX_GENERATION} times; connect anew`);
  }
  state.sessions.changing(session);
  session.generation += 1;
  state.fold.mix(session.id);
  state.fold.mix(session.generation);
  return attachedReply(session);
}

function attachedReply(session: Session): Reply {
  return {
    type: 'attached',
    session: session.id,
    generation: session.generation,
    timeoutMs: session.timeoutMs,
    lastApplied: session.memory.lastApplied,
    acquires: session
      .acquiresInOrder()
      .map(({ lock, acquireIndex, token }) => ({ lock: lock.name, acquireIndex, token })),
  };
}
