/**
 * Takes locks that are delayed when a hold of them is lost, and holds them for a moment, or for long, so that faults strike holders. Now and then a
 * holder stands still until its session has expired, whatever the faults are. Some wait as long as it takes, and see a delay that does not end;
 * others give up.
 */

import { TimeoutError, type HeldLock } from '@holdfast/client';
import { lockNameFor } from '../../plan/lock-names.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { LOCK_CHECKS, believe, giveBack, lostBy, take, type Taken } from './hold.ts';
import { inOwnSession } from './still-session.ts';

/** Few, so that somebody waits. */
const LOCKS = 3;
/** Of all of them: longer than any session of a live run, after which a lock that is not delayed would be granted. */
const DELAY_MS = 4_000;
/** Moments of a hold, between which belief is asked for: of most, and of one in so many. */
const MAX_MOMENTS = 3;
const LONG_ONE_IN = 4;
const MAX_LONG_MOMENTS = 24;
const MAX_MOMENT_MS = 120;
/** One in so many stands still, for so many timeouts of its session, which was renewed some time before. */
const STILL_ONE_IN = 12;
const STILL_TIMEOUTS = 1.5;
/** One in so many waits without limit. */
const PATIENT_ONE_IN = 4;
const MAX_WAIT_MS = 1_500;

export const delayedLocks: Workload = {
  name: 'delayed-locks',
  checks: [...LOCK_CHECKS, 'waits', 'belief', 'releases', 'delays'],
  oneIn: 24,
  latestVersion: true,
  takesLocks: true,
  hasRounds: true,
  // Where nobody was granted what another gave back, a delay after every hold would have done as well; where nobody lost any, no delay at all.
  demands: () => ({ delays: { released: 3, judged: 1 } }),
  async step(session) {
    const { random } = session;
    const lock = lockNameFor('delayed', random.integer(LOCKS));
    if (random.integer(STILL_ONE_IN) > 0) {
      await use(session, lock, (believes) => work(session, believes));
      return;
    }
    const stillMs = STILL_TIMEOUTS * session.plan.sessionTimeoutMs;
    await inOwnSession(session, (own) => use(own, lock, () => own.standStill(stillMs)));
  },
};

/** @param meanwhile what the holder does, who may ask in between whether it still is one */
async function use(
  session: ClientSession,
  lock: string,
  meanwhile: (believes: () => void) => Promise<void>,
): Promise<void> {
  const held = await ask(session, lock);
  if (held === undefined) return;
  if (held !== 'unsupported' && held !== 'delayed') {
    const believes = (): void => believe(session, lock, held);
    try {
      believes();
      await meanwhile(believes);
      believes();
    } catch (error) {
      lostBy(error, session, lock, held);
    }
    await giveBack(session, lock, held);
  }
  session.round();
}

/** `delayed`: it gave up, and was told that the lock is delayed, which is an answer, too. */
async function ask(session: ClientSession, lock: string): Promise<Taken<HeldLock> | 'delayed'> {
  const { client, random } = session;
  const limit = random.integer(PATIENT_ONE_IN) === 0 ? {} : { waitMs: 1 + random.integer(MAX_WAIT_MS) };
  let delayed = false;
  const held = await take(session, { lock, delayMs: DELAY_MS, ...limit }, async () => {
    try {
      return await client.lock(lock, { lockDelayMs: DELAY_MS }).acquire(limit);
    } catch (error) {
      delayed = error instanceof TimeoutError && error.wait?.delay !== undefined;
      throw error;
    }
  });
  return held ?? (delayed ? 'delayed' : undefined);
}

async function work({ random, sleep }: ClientSession, believes: () => void): Promise<void> {
  const moments = random.integer(LONG_ONE_IN) === 0 ? MAX_LONG_MOMENTS : MAX_MOMENTS;
  for (let left = random.integer(moments); left >= 0; left -= 1) {
    await sleep(random.integer(MAX_MOMENT_MS));
    if (left > 0) believes();
  }
}
