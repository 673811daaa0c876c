/**
 * Readers and writers of a few locks, of whom some writers go on as readers. Who reads believes that nobody writes, and who writes that nobody
 * else does either.
 */

import type { ReadWriteHold } from '@holdfast/client';
import type { LockRequest } from '@holdfast/protocol';
import type { ClientSession, Workload } from '../workload.ts';
import { believes, giveBack, takeAs } from './hold.ts';

const LOCKS = 2;
const MAX_HOLD_MS = 60;
const MAX_STEPS = 3;
const MAX_WAIT_MS = 600;
const WRITE_ONE_IN = 4;
const DOWNGRADE_ONE_IN = 2;
/** Of those that give up, one in so many. */
const GIVE_UP_ONE_IN = 5;

const READ: LockRequest = { type: 'readWrite', mode: 'read' };

export const readWrite: Workload = {
  name: 'read-write',
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
    const { client, random, round } = session;
    const name = `read-write-${random.integer(LOCKS)}`;
    const mode = random.integer(WRITE_ONE_IN) === 0 ? 'write' : 'read';
    const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
    const lock = client.readWriteLock(name);
    const held = await takeAs(session, name, { type: 'readWrite', mode }, () => lock[mode](), limit);
    if (held !== undefined) {
      await hold(session, name, held);
      if (mode === 'write' && random.integer(DOWNGRADE_ONE_IN) === 0 && (await downgraded(session, name, held)))
        await hold(session, name, held);
      await giveBack(session, name, held);
    }
    // That the ensemble knows no such lock yet is an answer, too.
    round();
  },
};

async function hold(session: ClientSession, name: string, held: ReadWriteHold): Promise<void> {
  for (let steps = session.random.integer(MAX_STEPS); steps >= 0; steps -= 1) {
    await session.sleep(session.random.integer(MAX_HOLD_MS));
    if (!believes(session, name, held)) return;
  }
}

/** True when it goes on reading. */
async function downgraded({ calls, client }: ClientSession, lock: string, held: ReadWriteHold): Promise<boolean> {
  const { token, acquireIndex } = held;
  const what = { lock, session: client.sessionId, token, hold: acquireIndex, asked: READ };
  return await calls.make({ f: 'convert', ...what }, async () => {
    await held.downgrade();
    return {};
  });
}
