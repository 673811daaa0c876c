/** Workers, each an owner of its own, enter a lock several times and leave it as often. */

import type { ReentrantHold, ReentrantLock } from '@holdfast/client';
import type { ClientSession, Workload } from '../workload.ts';
import { believes, giveBack, takeAs } from './hold.ts';

const LOCK = 'reentrant-0';
const LIMIT = 3;
const MAX_HOLD_MS = 40;
const MAX_WAIT_MS = 600;
const GIVE_UP_ONE_IN = 5;

export const reentrant: Workload = {
  name: 'reentrant',
  checks: [
    'grants',
    'owners',
    'tokens',
    'order',
    'waits',
    'exclusion',
    'belief',
    'releases',
    'ghosts',
    'expiry',
    'linearizable-locks',
  ],
  oneIn: 24,
  latestVersion: true,
  takesLocks: true,
  hasRounds: true,
  async step(session) {
    const { client, random, round, sleep, world } = session;
    const lock = client.lock(LOCK, { reentrant: true, limit: LIMIT });
    const owner = world.nextCall();
    const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
    const asked = { type: 'reentrant', owner, limit: LIMIT } as const;
    const held = await takeAs(session, LOCK, asked, () => lock, limit);
    if (held !== undefined) {
      const inner: ReentrantHold[] = [];
      for (let entries = random.integer(LIMIT); entries > 0; entries -= 1) {
        await sleep(random.integer(MAX_HOLD_MS));
        const entered = await enter(session, lock, owner);
        if (entered !== undefined) inner.push(entered);
      }
      believes(session, LOCK, held);
      for (const entered of inner.toReversed()) {
        await leave(session, owner, entered);
        await sleep(random.integer(MAX_HOLD_MS));
        believes(session, LOCK, held);
      }
      await giveBack(session, LOCK, held);
    }
    round();
  },
};

/** Without a limit of time: one that were given up would hold the lock until its cancel has come to its end. */
async function enter(
  { calls, client }: ClientSession,
  lock: ReentrantLock,
  owner: number,
): Promise<ReentrantHold | undefined> {
  let entered: ReentrantHold | undefined;
  await calls.make({ f: 'reenter', lock: LOCK, session: client.sessionId, owner }, async () => {
    entered = await lock.acquire();
    return { token: entered.token, hold: entered.acquireIndex };
  });
  return entered;
}

async function leave({ calls, client }: ClientSession, owner: number, held: ReentrantHold): Promise<void> {
  const { token, acquireIndex: hold } = held;
  await calls.make({ f: 'leave', lock: LOCK, session: client.sessionId, owner, token, hold }, async () => {
    await held.release();
    return {};
  });
}
