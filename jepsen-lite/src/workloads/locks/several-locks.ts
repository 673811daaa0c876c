/**
 * Moves amounts between accounts at the fenced store, each of which has a lock: both are taken by one acquire, and written to under its one
 * token. Some take the locks of all accounts, and look at what they have together.
 */

import type { HeldLock } from '@holdfast/client';
import {
  ACCOUNTS,
  AMOUNT_KEY,
  OPENING_AMOUNT,
  parsePosting,
  postingText,
  type Posting,
} from '../../history/locks/accounts.ts';
import { lockNameFor } from '../../plan/lock-names.ts';
import { useStore } from '../use-store.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { LOCK_CHECKS, believe, giveBack, lostBy, takeTogether } from './hold.ts';

const AUDIT_ONE_IN = 4;
const MAX_AMOUNT = 10;
/** Between the reads and the writes. */
const MAX_WORK_MS = 40;
/** Of those that give up, one in so many. */
const GIVE_UP_ONE_IN = 5;
const MAX_WAIT_MS = 600;

export const severalLocks: Workload = {
  name: 'several-locks',
  checks: [...LOCK_CHECKS, 'waits', 'belief', 'releases', 'several', 'fence', 'granted-tokens', 'transfers'],
  oneIn: 24,
  latestVersion: true,
  takesLocks: true,
  usesStore: true,
  hasRounds: true,
  demands: () => ({ several: { taken: 5, waited: 1 }, transfers: { moved: 3, audits: 1 } }),
  async step(session) {
    const { random, round } = session;
    const audits = random.integer(AUDIT_ONE_IN) === 0;
    const locks = drawn(session, audits ? ACCOUNTS : 2);
    const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
    const held = await takeTogether(session, locks, limit);
    if (held === undefined) return;
    if (held !== 'unsupported') {
      try {
        const postings = await readAll(session, locks, held);
        if (postings !== undefined && !audits) await move(session, locks, held, postings);
      } catch (error) {
        for (const lock of locks) lostBy(error, session, lock, held);
      }
      await Promise.all(locks.map((lock) => giveBack(session, lock, held)));
    }
    round();
  },
};

/** Of the locks of the accounts so many, in any order. */
function drawn({ random }: ClientSession, count: number): readonly string[] {
  const left = Array.from({ length: ACCOUNTS }, (_, account) => lockNameFor('account', account));
  return Array.from({ length: count }, () => left.splice(random.integer(left.length), 1)).flat();
}

/** Undefined where not all could be read. An account to which nothing was written has none. @throws LockLostError */
async function readAll(
  session: ClientSession,
  locks: readonly string[],
  held: HeldLock,
): Promise<readonly (Posting | undefined)[] | undefined> {
  const { token, acquireIndex: hold } = held;
  believeInAll(session, locks, held);
  for (const bucket of locks) if (!(await useStore(session, { f: 'fence', bucket, token }))) return undefined;
  const postings: (Posting | undefined)[] = [];
  for (const bucket of locks) {
    const keep = (value: string | null): void => void postings.push(value === null ? undefined : parsePosting(value));
    if (!(await useStore(session, { f: 'get', bucket, key: AMOUNT_KEY, token, hold }, keep))) return undefined;
  }
  believeInAll(session, locks, held);
  return postings;
}

/** From the first account to the second one. @throws LockLostError */
async function move(
  session: ClientSession,
  locks: readonly string[],
  held: HeldLock,
  postings: readonly (Posting | undefined)[],
): Promise<void> {
  const { random, sleep } = session;
  const { token } = held;
  const amount = 1 + random.integer(MAX_AMOUNT);
  await sleep(random.integer(MAX_WORK_MS));
  believeInAll(session, locks, held);
  for (const [place, bucket] of locks.entries()) {
    const change = place === 0 ? -amount : amount;
    const { number = 0, amount: before = OPENING_AMOUNT } = postings[place] ?? {};
    const value = postingText({ token, number: number + 1, amount: before + change, change });
    if (!(await useStore(session, { f: 'put', bucket, key: AMOUNT_KEY, value, token }))) return;
  }
}

function believeInAll(session: ClientSession, locks: readonly string[], held: HeldLock): void {
  for (const lock of locks) believe(session, lock, held);
}
