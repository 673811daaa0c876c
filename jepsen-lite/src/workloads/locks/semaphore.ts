/** Workers share the permits of a semaphore, one or several at a time; some give a part of theirs back before the rest. */

import type { PermitsHold } from '@holdfast/client';
import type { LockRequest } from '@holdfast/protocol';
import type { ClientSession, Workload } from '../workload.ts';
import { believes, giveBack, takeAs } from './hold.ts';

const LOCK = 'semaphore-0';
const PERMITS = 3;
const MAX_HOLD_MS = 80;
const MAX_WAIT_MS = 600;
const GIVE_UP_ONE_IN = 5;
const PART_ONE_IN = 2;

export const semaphore: Workload = {
  name: 'semaphore',
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
    const { client, random, round, sleep } = session;
    // Few want all of them, most want one.
    const count = 1 + Math.min(random.integer(PERMITS), random.integer(PERMITS));
    const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
    const permits = client.semaphore(LOCK, { permits: PERMITS });
    const asked = requestFor(count);
    const lock = { acquire: (options = {}) => permits.acquire({ ...options, permits: count }) };
    const held = await takeAs(session, LOCK, asked, () => lock, limit);
    if (held !== undefined) {
      await sleep(random.integer(MAX_HOLD_MS));
      if (believes(session, LOCK, held) && count > 1 && random.integer(PART_ONE_IN) === 0) {
        await givePart(session, held, 1 + random.integer(count - 1));
        await sleep(random.integer(MAX_HOLD_MS));
        believes(session, LOCK, held);
      }
      await giveBack(session, LOCK, held);
    }
    round();
  },
};

function requestFor(count: number): LockRequest {
  return { type: 'semaphore', permits: PERMITS, count };
}

async function givePart({ calls, client }: ClientSession, held: PermitsHold, count: number): Promise<void> {
  const { token, acquireIndex: hold, permits } = held;
  const what = { lock: LOCK, session: client.sessionId, token, hold, asked: requestFor(permits - count) };
  await calls.make({ f: 'convert', ...what }, async () => {
    await held.giveBack(count);
    return {};
  });
}
