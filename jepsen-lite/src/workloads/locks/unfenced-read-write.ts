/**
 * The control of the read-write lock: a counter in a bucket without a fence, whose writers and readers trust the lock alone. A writer that is
 * paused between its read and its write until its session has expired writes over what others have written since, and under the eyes of those
 * who hold the lock to read. Where that is never seen, the harness is blind.
 */

import type { HeldLock } from '@holdfast/client';
import { UNFENCED_BUCKET } from '../../history/history.ts';
import { lockNameFor } from '../../plan/lock-names.ts';
import { useStore } from '../use-store.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { believe, giveBack, lostBy, take } from './hold.ts';

/** One in so many reads; most write, since a paused reader harms nobody. */
const READ_ONE_IN = 4;
/** Between the read and the write: most of the time that the lock is held. */
const MIN_WORK_MS = 30;
const MAX_WORK_MS = 250;
/** At the register, by one reader. */
const LOOKS = 3;
const MAX_LOOK_MS = 60;
/** So many pauses of holders must do it: some meet a reader, or a writer that has just written. */
const ENOUGH_PAUSES = 6;

export const unfencedReadWrite: Workload = {
  name: 'unfenced-read-write',
  checks: ['grants', 'owners', 'tokens', 'order', 'exclusion', 'belief', 'releases', 'unfenced'],
  onRequest: true,
  latestVersion: true,
  takesLocks: true,
  usesStore: true,
  alone: true,
  hasRounds: true,
  demands: ({ longPausesOfHolders }) => (longPausesOfHolders >= ENOUGH_PAUSES ? { unfenced: { staleWrites: 1 } } : {}),
  async step(session) {
    const { client, random, world } = session;
    const lock = lockNameFor('control', random.integer(world.locks));
    const toWrite = random.integer(READ_ONE_IN) > 0;
    const ofBoth = client.readWriteLock(lock);
    const wanted = toWrite ? ofBoth.write() : ofBoth.read();
    const asked = { type: 'readWrite', write: toWrite } as const;
    const held = await take(session, { lock, asked }, () => wanted.acquire());
    if (held === undefined) return;
    if (held !== 'unsupported') {
      await (toWrite ? countUp(session, lock, held) : look(session, lock, held));
      await giveBack(session, lock, held);
    }
    session.round();
  },
};

/** Asks nobody whether it holds the lock still. */
async function countUp(session: ClientSession, lock: string, { token }: HeldLock): Promise<void> {
  const { random, sleep } = session;
  const at = { bucket: UNFENCED_BUCKET, key: lock };
  let before: string | null = null;
  if (!(await useStore(session, { f: 'get', ...at, token }, (value) => (before = value)))) return;
  const count = before === null ? 0 : Number((before as string).split(':')[1]);
  await sleep(MIN_WORK_MS + random.integer(MAX_WORK_MS - MIN_WORK_MS));
  await useStore(session, { f: 'put', ...at, value: `${token}:${count + 1}`, token });
}

async function look(session: ClientSession, lock: string, held: HeldLock): Promise<void> {
  const { random, sleep } = session;
  try {
    for (let looks = 0; looks < LOOKS; looks += 1) {
      await useStore(session, { f: 'get', bucket: UNFENCED_BUCKET, key: lock, hold: held.acquireIndex });
      await sleep(random.integer(MAX_LOOK_MS));
      believe(session, lock, held);
    }
  } catch (error) {
    lostBy(error, session, lock, held);
  }
}
