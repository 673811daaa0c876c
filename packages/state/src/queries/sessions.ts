/** The listing of sessions. Secrets are never shown. */

import type { Answer, SessionSummary } from '@holdfast/protocol';

import type { Session } from '../sessions/session.ts';
import type { State } from '../state.ts';
import { pageSize } from './page.ts';

export function sessions(state: State, after: number, limit: number): Answer {
  const page = state.sessions.ids.page(after, after, pageSize(limit), () => true);
  const listed = page.keys.flatMap((id) => state.sessions.get(id) ?? []);
  return { type: 'sessions', sessions: listed.map((session) => summary(state, session)), more: page.more };
}

function summary({ locks }: State, session: Session): SessionSummary {
  const { size, holds } = locks.acquiresOf(session);
  return {
    session: session.id,
    label: session.label,
    timeoutMs: session.timeoutMs,
    createdAt: session.createdAt,
    holds,
    waits: size - holds,
    ephemerals: session.ephemerals.size,
  };
}
