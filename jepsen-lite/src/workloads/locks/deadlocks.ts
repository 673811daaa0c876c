/**
 * Takes two locks one after the other, in any order, as those do who do not know better: so some wait for each other in a ring. Whose wait is ended
 * for that gives back what it has, and begins anew.
 */

import type { HeldLock } from '@holdfast/client';
import { lockNameFor } from '../../plan/lock-names.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { LOCK_CHECKS, believe, followLoss, giveBack, lostBy, take, type Taken } from './hold.ts';

/** Few, so that rings are closed. */
const LOCKS = 3;
/** Of one step. */
const TRIES = 4;
/** Between the first lock and the second. */
const MAX_THINK_MS = 40;
const MAX_WORK_MS = 30;
const MAX_PAUSE_MS = 60;

export const deadlocks: Workload = {
  name: 'deadlocks',
  checks: [...LOCK_CHECKS, 'waits', 'belief', 'releases', 'deadlocks'],
  oneIn: 24,
  latestVersion: true,
  takesLocks: true,
  hasRounds: true,
  // Where nobody was told of a deadlock, waits that go on would have done as well.
  demands: () => ({ deadlocks: { waits: 5, told: 1 } }),
  async step(session) {
    const { random, round, sleep } = session;
    const [first, second] = drawn(session);
    for (let left = TRIES; left > 0 && session.goesOn(); left -= 1) {
      if (await worked(session, first, second)) {
        round();
        return;
      }
      await sleep(random.integer(MAX_PAUSE_MS));
    }
  },
};

function drawn({ random }: ClientSession): readonly [string, string] {
  const first = random.integer(LOCKS);
  const second = (first + 1 + random.integer(LOCKS - 1)) % LOCKS;
  return [lockNameFor('crossed', first), lockNameFor('crossed', second)];
}

/** Under both locks, unless the servers do not know such waits yet; false where one of the two was not granted. */
async function worked(session: ClientSession, first: string, second: string): Promise<boolean> {
  const { random, sleep } = session;
  const one = await ask(session, first);
  if (one === undefined || one === 'unsupported') return one === 'unsupported';
  followLoss(session, first, one);
  await sleep(random.integer(MAX_THINK_MS));
  const other = await ask(session, second);
  const both = other !== undefined && other !== 'unsupported';
  if (both && holds(session, first, one) && holds(session, second, other)) {
    await sleep(random.integer(MAX_WORK_MS));
    holds(session, first, one);
    holds(session, second, other);
  }
  if (both) await giveBack(session, second, other);
  await giveBack(session, first, one);
  return both;
}

function ask(session: ClientSession, lock: string): Promise<Taken<HeldLock>> {
  return take(session, { lock }, () => session.client.lock(lock, { deadlockPolicy: 'abort-youngest' }).acquire());
}

function holds(session: ClientSession, lock: string, held: HeldLock): boolean {
  try {
    believe(session, lock, held);
    return true;
  } catch (error) {
    lostBy(error, session, lock, held);
    return false;
  }
}
