/** The listing of sessions. Secrets are never shown. */

import type { Answer, SessionSummary } from '@holdfast/protocol';

import type { Session } from '../sessions/session.ts';
import type { State } from '../state.ts';
import { firstPage } from './page.ts';

export function sessions(state: State, after: number, limit: number): Answer {
  const page = firstPage(followers(state, after), limit, (left, right) => left.id - right.id);
  return { type: 'sessions', sessions: page.items.map(summary), more: page.more };
}

function* followers(state: State, after: number): Iterable<Session> {
  for (const session of state.sessions.values()) {
    if (session.id > after) yield session;
  }
}

function summary(session: Session): SessionSummary {
  return {
    session: session.id,
    label: session.label,
    timeoutMs: session.timeoutMs,
    createdAt: session.createdAt,
    holds: session.holds,
    waits: session.acquires.size - session.holds,
    ephemerals: session.ephemerals.size,
  };
}
