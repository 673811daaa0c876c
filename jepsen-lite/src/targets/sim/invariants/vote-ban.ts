/**
 * A server whose log was damaged, and was cut: what it had acknowledged may be counted still, so it takes part in no election before it
 * has again all of that which was committed. What others have committed without it, it need not have.
 */

import type { Message } from '@holdfast/raft';
import type { ObservedServer } from './observed-server.ts';
import type { Report } from '../../../checkers/violation.ts';

/** `had`: the terms of the entries that were durable before the damage. */
export function beginBan(server: ObservedServer, committedEntries: number, had: readonly number[]): void {
  server.owed = Math.min(committedEntries, had.length - 1);
  server.lost = [...had, ...server.lost.slice(had.length)];
}

export function checkBanTerm(id: number, banTerm: number, lastTerm: number, report: Report): void {
  if (banTerm > lastTerm) return;
  report(
    'a-ban-begins-above-every-term-that-was-sent',
    `server ${id}, which was in term ${lastTerm}, begins anew in term ${banTerm}`,
  );
}

/** `committed`: the terms of the committed entries, by index. */
export function checkBan(
  id: number,
  server: ObservedServer,
  committed: readonly number[],
  message: Message,
  report: Report,
): void {
  if (server.owed === 0) return;
  const { terms } = server.log.durable;
  const lacks = committed.findIndex((term, index) => index <= server.owed && terms[index] !== term);
  if (lacks === -1) {
    server.owed = 0;
    server.lost = [];
    return;
  }
  if (message.type !== 'vote' && !(message.type === 'vote-response' && message.granted)) return;
  report(
    'a-server-that-lost-its-log-does-not-vote',
    `server ${id} takes part in the election of term ${message.term} without the committed entry ${lacks}, which it had`,
  );
}

/** Whether a leader may count it as one that has the entry. One that had it must have it again before it votes. */
export function countsFor(server: ObservedServer, index: number, term: number): boolean {
  const lost = server.lost[index] === term;
  if (lost) server.owed = Math.max(server.owed, index);
  return lost || server.log.durable.terms[index] === term;
}
