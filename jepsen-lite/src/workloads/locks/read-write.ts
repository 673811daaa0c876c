/**
 * Readers and writers of a register at the fenced store. Writers count it up, and some go on reading under the same token. Readers look at it
 * again and again while they hold the lock together: it must not change meanwhile.
 */

import type { HeldLock } from '@holdfast/client';
import { lockNameFor } from '../../plan/lock-names.ts';
import { useStore } from '../use-store.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { LOCK_CHECKS, believe, giveBack, lostBy, take, type Taken } from './hold.ts';

/** Few, so that readers meet. */
const LOCKS = 2;
/** Of the counter in the bucket of each lock. */
const KEY = 'n';
const WRITE_ONE_IN = 4;
/** Of those that give up, one in so many. */
const GIVE_UP_ONE_IN = 5;
const MAX_WAIT_MS = 600;
/** At the register, by one reader. */
const MIN_LOOKS = 2;
const MAX_LOOKS = 4;
/** Between two looks; longer than a writer needs. */
const MAX_LOOK_MS = 60;
const MAX_WORK_MS = 40;

export const readWrite: Workload = {
  name: 'read-write',
  checks: [...LOCK_CHECKS, 'waits', 'belief', 'releases', 'fence', 'granted-tokens', 'lost-updates', 'shared-reads'],
  oneIn: 24,
  latestVersion: true,
  takesLocks: true,
  usesStore: true,
  hasRounds: true,
  // Where nobody read beside another one, a mutex would have done as well.
  demands: () => ({ owners: { together: 3, downgrades: 1 }, 'shared-reads': { sections: 3, together: 1 } }),
  async step(session) {
    const { random, world } = session;
    const lock = lockNameFor('read-write', random.integer(Math.min(LOCKS, world.locks)));
    if (random.integer(WRITE_ONE_IN) === 0) await write(session, lock);
    else await read(session, lock);
  },
};

async function read(session: ClientSession, lock: string): Promise<void> {
  const held = await ask(session, lock, false);
  if (held === undefined) return;
  if (held !== 'unsupported') {
    try {
      believe(session, lock, held);
      // Refused where somebody has installed a higher one: that keeps older writers out as well.
      await useStore(session, { f: 'fence', bucket: lock, token: held.token });
      await look(session, lock, held);
    } catch (error) {
      lostBy(error, session, lock, held);
    }
    await giveBack(session, lock, held);
  }
  session.round();
}

async function write(session: ClientSession, lock: string): Promise<void> {
  const held = await ask(session, lock, true);
  if (held === undefined) return;
  if (held !== 'unsupported') {
    try {
      believe(session, lock, held);
      const written = await countUp(session, lock, held);
      if (written && session.random.integer(2) === 0 && (await downgrade(session, lock, held))) {
        await look(session, lock, held);
      }
    } catch (error) {
      lostBy(error, session, lock, held);
    }
    await giveBack(session, lock, held);
  }
  session.round();
}

async function ask(session: ClientSession, lock: string, toWrite: boolean): Promise<Taken<HeldLock>> {
  const { client, random } = session;
  const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
  const readWriteLock = client.readWriteLock(lock);
  const wanted = toWrite ? readWriteLock.write() : readWriteLock.read();
  const asked = { type: 'readWrite', write: toWrite } as const;
  return await take(session, { lock, asked, ...limit }, () => wanted.acquire(limit));
}

/** @throws LockLostError */
async function look(session: ClientSession, lock: string, held: HeldLock): Promise<void> {
  const { random, sleep } = session;
  const looks = MIN_LOOKS + random.integer(MAX_LOOKS - MIN_LOOKS + 1);
  for (let left = looks; left > 0; left -= 1) {
    await useStore(session, { f: 'get', bucket: lock, key: KEY, hold: held.acquireIndex });
    if (left > 1) await sleep(random.integer(MAX_LOOK_MS));
    believe(session, lock, held);
  }
}

/** False where it had no effect, or nobody can tell. @throws LockLostError */
async function countUp(session: ClientSession, lock: string, held: HeldLock): Promise<boolean> {
  const { random, sleep } = session;
  const { token } = held;
  if (!(await useStore(session, { f: 'fence', bucket: lock, token }))) return false;
  let before: string | null = null;
  if (!(await useStore(session, { f: 'get', bucket: lock, key: KEY, token }, (value) => (before = value))))
    return false;
  await sleep(random.integer(MAX_WORK_MS));
  believe(session, lock, held);
  const count = before === null ? 0 : Number((before as string).split(':')[1]);
  return await useStore(session, { f: 'put', bucket: lock, key: KEY, value: `${token}:${count + 1}`, token });
}

async function downgrade({ calls, client }: ClientSession, lock: string, held: HeldLock): Promise<boolean> {
  const { token, acquireIndex: hold } = held;
  return await calls.make({ f: 'downgrade', lock, session: client.sessionId, token, hold }, async () => {
    await held.downgrade();
    return {};
  });
}
