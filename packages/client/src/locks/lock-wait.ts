/** What a wait waits for, as the ensemble has said it last. */

import type { QueueEntry } from '@holdfast/protocol';

/**
 * Who had the lock and how many were before one acquire that waited for it, when the ensemble was asked last.
 *
 * @example
 * if (error instanceof TimeoutError) console.log(error.wait?.holders[0]?.label, error.wait?.before);
 */
export interface LockWait {
  /** The lock's name. */
  readonly lock: string;
  /** For how long the acquire had waited, in milliseconds of this client's clock. */
  readonly waitedMs: number;
  /** Those who held it; `grantedAt` is since when, in milliseconds of the Unix epoch by the leader's clock. */
  readonly holders: readonly QueueEntry[];
  /** How many others were to be granted first, those who held it not counted. */
  readonly before: number;
  /** There were more than `before`: the ensemble lists no more than a thousand places. */
  readonly truncated: boolean;
}

/** In words, for messages: `held by session 12 "host:1" since 2026-01-02T03:04:05.678Z, 3 others are before this acquire`. */
export function describeWait({ holders, before, truncated }: LockWait): string {
  const held = holders.length === 0 ? 'held by nobody any more' : `held by ${holders.map(describeHolder).join(', ')}`;
  const more = truncated ? 'more than ' : '';
  const others = before === 1 && !truncated ? '1 other is' : `${more}${before} others are`;
  return before === 0 ? `${held}; this acquire is next` : `${held}; ${others} before this acquire`;
}

function describeHolder({ session, label, token, grantedAt }: QueueEntry): string {
  const who = label === '' ? `session ${session}` : `session ${session} ${JSON.stringify(label)}`;
  // oxlint-disable-next-line no-restricted-globals -- writes out a time that was given
  return `${who} under token ${token} since ${new Date(grantedAt).toISOString()}`;
}
