/**
 * A crowd at one lock: every worker waits for it, holds it for a moment, and waits again. Most wait as long as it takes; some give up, and
 * must leave nothing in the queue.
 */

import { lockName } from '../../plan/plan.ts';
import type { Workload } from '../workload.ts';
import { LOCK_CHECKS, giveBack, takeLock } from './hold.ts';

/** Everybody's. */
const LOCK = lockName(0);
const MAX_HOLD_MS = 30;
/** Of those that give up, one in so many. */
const MAX_WAIT_MS = 400;
const GIVE_UP_ONE_IN = 5;
/** Turns of a worker without a pause. */
const MAX_TURNS = 5;

export const fairQueue: Workload = {
  name: 'fair-queue',
  checks: [...LOCK_CHECKS, 'waits', 'bounded-waiting', 'releases'],
  oneIn: 24,
  takesLocks: true,
  hasRounds: true,
  // A queue in which nobody waits shows nothing of its order, nor of how long one waits on the healed system.
  demands: () => ({ order: { grantsWithWaiters: 10 }, waits: { served: 10 }, 'bounded-waiting': { behindOthers: 1 } }),
  async step(session) {
    const { random, goesOn, sleep, round } = session;
    for (let turn = random.integer(MAX_TURNS); turn >= 0 && goesOn(); turn -= 1) {
      const waitMs = random.integer(GIVE_UP_ONE_IN) === 0 ? 1 + random.integer(MAX_WAIT_MS) : undefined;
      const held = await takeLock(session, LOCK, waitMs === undefined ? {} : { waitMs });
      if (held === undefined) continue;
      await sleep(random.integer(MAX_HOLD_MS));
      await giveBack(session, LOCK, held);
      round();
    }
  },
};
