/** What a wait waits for, as the ensemble has said it last. */

import type { QueueEntry } from '@holdfast/protocol';

/**
 * Who had the lock and how many were before one acquire that waited for it, when the ensemble was asked last.
 *
 * @example
 * if (error instanceof TimeoutError) console.log(error.wait?.holders[0]?.label, error.wait?.before);
 */
export interface LockWait {
  /** The lock's name. Of several at once, that which holds the acquire up: the one where most are before it. */
  readonly lock: string;
  /** All locks that the acquire asks for; `lock` is one of them. */
  readonly locks: readonly string[];
  /** For how long the acquire had waited, in milliseconds of this client's clock. */
  readonly waitedMs: number;
  /** Those who held it; `grantedAt` is since when, in milliseconds of the Unix epoch by the leader's clock. */
  readonly holders: readonly QueueEntry[];
  /**
   * How many others were to be granted first, those who held it not counted. For one who is to read, these are all up to the last one who is to
   * write: who waits to read behind that is granted together with it.
   */
  readonly before: number;
  /** There were more than `before`: the ensemble lists no more than a thousand places. */
  readonly truncated: boolean;
}

/** So many are named in a message, of holders and of locks. */
const MAX_NAMED = 3;

/** `lock "a"`, or `locks "a", "b"`. */
export function locksText(locks: readonly string[]): string {
  return `${locks.length === 1 ? 'lock' : 'locks'} ${listed(locks.map((lock) => JSON.stringify(lock)))}`;
}

/** In words, for messages: `held by session 12 "host:1" since 2026-01-02T03:04:05.678Z, 3 others are before this acquire`. */
export function describeWait({ lock, locks, holders, before, truncated }: LockWait): string {
  const which = locks.length === 1 ? '' : `lock ${JSON.stringify(lock)} is `;
  const held = `${which}${holders.length === 0 ? heldByNobody(before) : `held by ${listed(holders.map(describeHolder))}`}`;
  const more = truncated ? 'more than ' : '';
  const others = before === 1 && !truncated ? '1 other is' : `${more}${before} others are`;
  return before === 0 ? `${held}; this acquire is next` : `${held}; ${others} before this acquire`;
}

/** Who is to be granted several locks holds none of them as long as it lacks one. */
function heldByNobody(before: number): string {
  return before === 0 ? 'held by nobody any more' : 'held by nobody, since those before wait for other locks, too';
}

function describeHolder({ session, label, token, grantedAt }: QueueEntry): string {
  const who = label === '' ? `session ${session}` : `session ${session} ${JSON.stringify(label)}`;
  // oxlint-disable-next-line no-restricted-globals -- writes out a time that was given
  return `${who} under token ${token} since ${new Date(grantedAt).toISOString()}`;
}

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED;
  return more > 0 ? `${texts.slice(0, MAX_NAMED).join(', ')} and ${more} more` : texts.join(', ');
}
