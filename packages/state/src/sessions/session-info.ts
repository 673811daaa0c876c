/** What a server may know of a session: a copy, which later entries do not change. */

import type { Session } from './session.ts';

export interface SessionInfo {
  readonly id: number;
  readonly timeoutMs: number;
  readonly generation: number;
  readonly label: string;
  readonly lastApplied: number;
  /** At which it is attached. */
  readonly server: number;
  /** What the answers take that it has not acknowledged. */
  readonly replyBytes: number;
  /** It is over, and nodes of it are left. */
  readonly ending: boolean;
}

export function sessionInfo(session: Session): SessionInfo {
  const { id, timeoutMs, generation, label, server } = session;
  const ending = session.ending !== undefined;
  const { lastApplied, bytes: replyBytes } = session.cache;
  return { id, timeoutMs, generation, label, server, lastApplied, replyBytes, ending };
}
