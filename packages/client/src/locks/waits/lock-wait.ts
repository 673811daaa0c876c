/** What a wait waits for, as the ensemble has said it last. */

import type { DeadlockStep, LockDelay, QueueEntry } from '@holdfast/protocol';

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
  /** The lock was delayed: nobody is granted it for a while, since a holder was lost that had asked for that. Undefined where it was not. */
  readonly delay: LockDelay | undefined;
  /**
   * The deadlock that the acquire is in, where one was found: sessions in a ring, of which each holds what the one before waits for. Empty for
   * none. A session may be many tasks, so that it is a possible one; one that lasts is one.
   */
  readonly cycle: readonly DeadlockStep[];
}

/** So many are named in a message, of holders and of locks. */
const MAX_NAMED = 3;

/** `lock "a"`, or `locks "a", "b"`. */
export function locksText(locks: readonly string[]): string {
  return `${locks.length === 1 ? 'lock' : 'locks'} ${listed(locks.map((lock) => JSON.stringify(lock)))}`;
}

/** In words, for messages: `held by session 12 "host:1" since 2026-01-02T03:04:05.678Z, 3 others are before this acquire`. */
export function describeWait(wait: LockWait): string {
  const { cycle } = wait;
  return cycle.length === 0 ? describePlace(wait) : `${describePlace(wait)}; ${describeDeadlock(cycle)}`;
}

/** In words, for messages: `deadlock: session 12 holds "a" and waits for "b", session 15 holds "b" and waits for "a"`. */
export function describeDeadlock(cycle: readonly DeadlockStep[]): string {
  return `deadlock: ${listed(cycle.map(describeStep))}`;
}

function describeStep({ session, label, holds, waitsFor, behind }: DeadlockStep): string {
  const queue = behind === 0 ? '' : ` behind acquire ${behind}`;
  return `${whoIs(session, label)} holds ${JSON.stringify(holds)} and waits for ${JSON.stringify(waitsFor)}${queue}`;
}

function describePlace({ lock, locks, holders, before, truncated, delay }: LockWait): string {
  const which = locks.length === 1 ? '' : `lock ${JSON.stringify(lock)} is `;
  const byWhom = holders.length === 0 ? heldByNobody(before, delay) : `held by ${listed(holders.map(describeHolder))}`;
  const held = `${which}${byWhom}`;
  const more = truncated ? 'more than ' : '';
  const others = before === 1 && !truncated ? '1 other is' : `${more}${before} others are`;
  return before === 0 ? `${held}; this acquire is next` : `${held}; ${others} before this acquire`;
}

/** Who is to be granted several locks holds none of them as long as it lacks one. */
function heldByNobody(before: number, delay: LockDelay | undefined): string {
  if (delay !== undefined)
    return `held by nobody, and delayed by ${delay.delayMs} ms since its holder under token ${delay.token} was lost`;
  return before === 0 ? 'held by nobody any more' : 'held by nobody, since those before wait for other locks, too';
}

function describeHolder({ session, label, token, grantedAt }: QueueEntry): string {
  // oxlint-disable-next-line no-restricted-globals -- writes out a time that was given
  return `${whoIs(session, label)} under token ${token} since ${new Date(grantedAt).toISOString()}`;
}

function whoIs(session: number, label: string): string {
  return label === '' ? `session ${session}` : `session ${session} ${JSON.stringify(label)}`;
}

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED;
  return more > 0 ? `${texts.slice(0, MAX_NAMED).join(', ')} and ${more} more` : texts.join(', ');
}
