/** What `lockctl lock` says of its locks, of one or of several at once. */

import type { EnsembleClient, LockHolder } from '../ensemble-client.ts';
import { reportFailure } from '../failure.ts';
import { printable } from '../output/text.ts';

/** How long it is asked who holds a lock that was not acquired. */
const HOLDER_TIMEOUT_MS = 1_000;

/** `lock "a"`, or `locks "a", "b"`. */
export function locksText(names: readonly string[]): string {
  const quoted = names.map((name) => `"${printable(name)}"`).join(', ');
  return `${names.length === 1 ? 'lock' : 'locks'} ${quoted}`;
}

export function isOrAre(names: readonly string[]): 'is' | 'are' {
  return names.length === 1 ? 'is' : 'are';
}

export function wasOrWere(names: readonly string[]): 'was' | 'were' {
  return names.length === 1 ? 'was' : 'were';
}

export function notAcquired(names: readonly string[], waitMs: number, by: string): string {
  const one = names.length === 1;
  const time =
    waitMs === 0 ? `${isOrAre(names)} not free` : `${wasOrWere(names)} not acquired within ${waitMs / 1_000} s`;
  const advice = `see ${one ? 'its queue' : 'their queues'} with "lockctl show", or wait longer with --wait`;
  return `${locksText(names)} ${time}${by}; ${advice}`;
}

/**
 * Who is in the way, to stand behind the locks. A holder without a token waits for another of its locks, and is before; one without a session was
 * lost, and delays the lock.
 */
function heldBy({ session, label, token }: LockHolder, which = ''): string {
  if (session === 0) return `, ${which}delayed since its holder with token ${token} was lost`;
  const who = `session ${session}${label === '' ? '' : ` (${printable(label)})`}`;
  return token === 0
    ? `, ${which}kept for ${who}, which waits for another lock, too`
    : `, ${which}held by ${who} with token ${token}`;
}

/** The same of a refusal, which does not say of which of several locks it speaks. */
export function refusedFor(holder: LockHolder, names: readonly string[]): string {
  return heldBy(holder, names.length === 1 ? '' : 'one of them ');
}

/** For the message alone: that it cannot be asked is no failure of its own, but may be why the lock was not acquired. */
export async function findHolder(client: EnsembleClient, names: readonly string[]): Promise<string> {
  try {
    return (await firstHeld(client, names)).by;
  } catch (error) {
    return notAsked(error);
  }
}

/** What a wait waits for: who holds the lock, and how many others wait for it. */
export async function describeWait(client: EnsembleClient, names: readonly string[]): Promise<string> {
  try {
    const { by, others } = await firstHeld(client, names);
    return `${by}${others === 0 ? '' : `; ${others} more ${others === 1 ? 'waits' : 'wait'} for it`}`;
  } catch (error) {
    return notAsked(error);
  }
}

/** Of several locks, the first one that somebody has or wants beside the one who asks. */
async function firstHeld(
  client: EnsembleClient,
  names: readonly string[],
): Promise<{ readonly by: string; readonly others: number }> {
  for (const name of names) {
    const { holders, waiters, delay } = await client.admin.lock(name, { timeoutMs: HOLDER_TIMEOUT_MS });
    const lost = delay === undefined ? undefined : { session: 0, label: '', token: delay.token };
    const holder: LockHolder | undefined = holders[0] ?? lost;
    const others = Math.max(0, waiters.length - 1);
    if (holder === undefined && others === 0) continue;
    const which = names.length === 1 ? '' : `"${printable(name)}" `;
    return { by: holder === undefined ? '' : heldBy(holder, which), others };
  }
  return { by: '', others: 0 };
}

function notAsked(error: unknown): string {
  return `, and who holds it could not be asked: ${reportFailure(error).message}`;
}
