/** When the ensemble has ended a session, as the leader's log says: it is the moment at which that is decided, before any entry is written. */

import { readFileSync } from 'node:fs';

/**
 * Milliseconds of this machine's clock, of the first server that decided it.
 *
 * @throws Error when none of the logs tells of it
 */
export function expiredAtMs(logFiles: readonly string[], sessionId: number): number {
  const times = logFiles.flatMap((file) => expiriesIn(readFileSync(file, 'utf8'), sessionId));
  if (times.length === 0) throw new Error(`no server's log says that session ${sessionId} expired`);
  return Math.min(...times);
}

/** @param log a server's: a JSON object a line, and what other lines it may have */
export function expiriesIn(log: string, sessionId: number): number[] {
  return log.split('\n').flatMap((line) => {
    if (!line.includes('"session expired"')) return [];
    const event = JSON.parse(line) as { readonly msg?: string; readonly sessionId?: number; readonly time?: number };
    return event.msg === 'session expired' && event.sessionId === sessionId && event.time !== undefined
      ? [event.time]
      : [];
  });
}
