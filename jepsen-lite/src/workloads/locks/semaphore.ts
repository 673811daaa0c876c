/** Holders of permits: each takes one, some or all of those that there are, and holds them for a moment. Some give up. */

import { lockNameFor } from '../../plan/lock-names.ts';
import type { Workload } from '../workload.ts';
import { LOCK_CHECKS, believe, giveBack, lostBy, take } from './hold.ts';

/** Few, so that holders meet. */
const LOCKS = 2;
const PERMITS = 3;
const MAX_HOLD_MS = 80;
/** Between which belief is asked for. */
const MAX_MOMENTS = 3;
/** Of those that give up, one in so many. */
const GIVE_UP_ONE_IN = 5;
const MAX_WAIT_MS = 600;

export const semaphore: Workload = {
  name: 'semaphore',
  checks: [...LOCK_CHECKS, 'waits', 'belief', 'releases'],
  oneIn: 24,
  latestVersion: true,
  takesLocks: true,
  hasRounds: true,
  // Where nobody shared, or nobody had to wait, one permit or any number would have done as well.
  demands: () => ({ owners: { together: 5 }, order: { grantsWithWaiters: 3 } }),
  async step(session) {
    const { client, random, round, sleep, world } = session;
    const lock = lockNameFor('permits', random.integer(Math.min(LOCKS, world.locks)));
    const permits = 1 + random.integer(PERMITS);
    const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
    const asked = { type: 'semaphore', permits, limit: PERMITS } as const;
    const held = await take(session, { lock, asked, ...limit }, () =>
      client.semaphore(lock, { permits: PERMITS }).acquire({ permits, ...limit }),
    );
    if (held === undefined) return;
    if (held !== 'unsupported') {
      try {
        for (let left = 1 + random.integer(MAX_MOMENTS); left > 0; left -= 1) {
          believe(session, lock, held);
          await sleep(random.integer(MAX_HOLD_MS));
        }
      } catch (error) {
        lostBy(error, session, lock, held);
      }
      await giveBack(session, lock, held);
    }
    round();
  },
};
