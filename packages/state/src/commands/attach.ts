/**
 * attach: creates the session of a secret, or attaches to it. A repeated create is the same session, with the timeout and label of
 * its creation; each attach raises the generation, so that what earlier connections still carry is refused.
 */

import type { Command, Reply } from '@holdfast/protocol';

import { MAX_GENERATION } from '../limits.ts';
import { hashKey } from '../sessions/session-table.ts';
import type { Session } from '../sessions/session.ts';
import { errorReply, quoted } from '../replies.ts';
import type { State } from '../state.ts';

/** `via`: the server whose client asks; requests count only through it from now on. */
export function attach(state: State, command: Extract<Command, { type: 'attach' }>, via: number): Reply {
  const secretHash = hashKey(command.secretHash);
  const known = state.sessions.bySecretHash(secretHash);
  if (command.session !== 0 && known?.id !== command.session) {
    return errorReply('SESSION_EXPIRED', `session ${command.session} has ended or has another secret; connect anew`);
  }
  if (known?.ending !== undefined) {
    return errorReply(
      'OVERLOADED',
      `session ${known.id} is ending: ${known.ephemerals.size} nodes are left; try again`,
    );
  }
  if (known !== undefined) return attachAgain(state, known, via);

  if (state.sessions.size >= state.limits.maxSessions) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `there are ${state.limits.maxSessions} sessions already; close some, or try again when some have expired`,
    );
  }
  const { maxSessionsPerLabel } = state.limits;
  if (state.sessions.labelled(command.label) >= maxSessionsPerLabel) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `there are ${maxSessionsPerLabel} sessions with the label ${JSON.stringify(quoted(command.label))} already; close some, or give others another label`,
    );
  }
  const session = state.sessions.create({
    id: state.index,
    secretHash,
    timeoutMs: command.timeoutMs,
    label: command.label,
    createdAt: state.stamp,
    server: via,
  });
  state.events.push({ type: 'sessionCreated', session: session.id, timeoutMs: session.timeoutMs });
  state.digest.mix(session.id);
  state.digest.mix(via);
  return attachedReply(state, session);
}

function attachAgain(state: State, session: Session, via: number): Reply {
  if (session.generation >= MAX_GENERATION) {
    return errorReply('LIMIT_EXCEEDED', `session ${session.id} was attached ${MAX_GENERATION} times; connect anew`);
  }
  state.sessions.changing(session);
  session.generation += 1;
  session.server = via;
  state.digest.mix(session.id);
  state.digest.mix(session.generation);
  state.digest.mix(via);
  return attachedReply(state, session);
}

function attachedReply(state: State, session: Session): Reply {
  return {
    type: 'attached',
    session: session.id,
    generation: session.generation,
    timeoutMs: session.timeoutMs,
    lastApplied: session.cache.lastApplied,
    acquires: state.locks
      .acquiresOf(session)
      .inOrder()
      .map(({ lock, acquireIndex, token }) => ({ lock: lock.name, acquireIndex, token })),
  };
}
