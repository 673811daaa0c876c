/**
 * Takes a lock, changes what it protects at the fenced store, and does as much at one without a fence, which is the control. Most ask
 * `assertHeld()` before they write; some are careless, so that the token alone protects.
 */

import { LockLostError, type HeldLock } from '@holdfast/client';
import { UNFENCED_BUCKET } from '../../history/history.ts';
import { lockName } from '../../plan/plan.ts';
import { AbortedByApplication, type Ok } from '../calls.ts';
import { useStore } from '../use-store.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { LOCK_CHECKS } from './hold.ts';

/** Of the counter in the bucket of each lock. */
const KEY = 'n';
/** Short tasks within a critical section, between which belief is asked for. */
const MAX_STEPS = 3;
const MAX_STEP_MS = 120;
const MAX_CARELESS_MS = 2_500;
/** Of acquires that time out, and of those that are given up. */
const MAX_WAIT_MS = 1_000;
const MAX_PATIENCE_MS = 1_500;

export const criticalSections: Workload = {
  name: 'critical-sections',
  checks: [...LOCK_CHECKS, 'belief', 'releases', 'fence', 'granted-tokens', 'lost-updates', 'unfenced'],
  share: 2,
  takesLocks: true,
  usesStore: true,
  hasRounds: true,
  step: criticalSection,
};

export async function criticalSection(session: ClientSession): Promise<void> {
  const { calls, client, plan, random, world } = session;
  const lock = lockName(random.integer(world.locks));
  const held = await acquire(session, lock);
  if (held === undefined) return;
  const { token, acquireIndex: hold } = held;
  const believes = (): void => {
    held.assertHeld();
    calls.record({ type: 'believe', lock, session: client.sessionId, token, hold });
    world.believed(plan.name, lock, token, hold);
  };
  let written: number | undefined;
  try {
    believes();
    const busy = plan.longSteps !== undefined;
    if (busy || random.integer(3) === 0) written = await readModifyWrite(session, lock, token, believes);
    const long = busy && random.integer(3) === 0;
    for (let step = random.integer(long ? plan.longSteps : MAX_STEPS); step > 0; step -= 1) {
      await session.sleep(random.integer(MAX_STEP_MS));
      believes();
    }
    // What was installed before is installed still.
    if (long && written !== undefined) await useStore(session, { f: 'get', bucket: lock, key: KEY, token });
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error;
    const { reason } = error;
    if (reason !== 'released') calls.record({ type: 'lost', lock, session: client.sessionId, token, hold, reason });
    // Some go on all the same: only the token stands between them and a stale write.
    if (written !== undefined && random.integer(2) === 0) await write(session, lock, token, written + 1);
  }
  await calls.make({ f: 'release', lock, session: client.sessionId, token, hold }, async () => {
    await held.release();
    return {};
  });
  session.round();
}

async function acquire({ calls, client, random, runtime }: ClientSession, name: string): Promise<HeldLock | undefined> {
  const lock = client.lock(name);
  const operation = { f: 'acquire', lock: name, session: client.sessionId } as const;
  let held: HeldLock | undefined;
  const take = async (how: () => Promise<HeldLock>): Promise<Ok['acquire']> => {
    held = await how();
    return { token: held.token, hold: held.acquireIndex };
  };
  switch (random.integer(5)) {
    case 0:
      await calls.make({ ...operation, waitMs: 0 }, () => take(() => lock.acquire({ waitMs: 0 })));
      break;
    case 1: {
      const waitMs = 1 + random.integer(MAX_WAIT_MS);
      await calls.make({ ...operation, waitMs }, () => take(() => lock.acquire({ waitMs })));
      break;
    }
    case 2: {
      const aborter = new AbortController();
      const abort = (): void => aborter.abort(new AbortedByApplication());
      const timer = runtime.clock.setTimer(random.integer(MAX_PATIENCE_MS), abort);
      await calls.make(operation, () => take(() => lock.acquire({ signal: aborter.signal })));
      timer.cancel();
      break;
    }
    default:
      await calls.make(operation, () => take(() => lock.acquire()));
  }
  return held;
}

/** install → read → write, as the holder of a lock must; the store without a fence gets the same writes and believes anybody. */
async function readModifyWrite(
  session: ClientSession,
  lock: string,
  token: number,
  believes: () => void,
): Promise<number | undefined> {
  const { plan, random } = session;
  const bucket = lock;
  const installed = await useStore(session, { f: 'fence', bucket, token });
  if (!installed) return undefined;
  let before: string | null = null;
  const read = await useStore(session, { f: 'get', bucket, key: KEY, token }, (value) => (before = value));
  if (!read) return undefined;
  // Some take their time and trust the lock: only the token stands between them and a stale write.
  const careless = random.integer(5) === 0 || plan.careless === true;
  await session.sleep(random.integer(careless ? MAX_CARELESS_MS : MAX_STEP_MS));
  if (!careless) believes();
  const count = before === null ? 0 : Number((before as string).split(':')[1]);
  return (await write(session, lock, token, count + 1)) ? count + 1 : undefined;
}

/** True when the fenced store has accepted it. */
async function write(session: ClientSession, lock: string, token: number, count: number): Promise<boolean> {
  const value = `${token}:${count}`;
  const accepted = await useStore(session, { f: 'put', bucket: lock, key: KEY, value, token });
  await useStore(session, { f: 'put', bucket: UNFENCED_BUCKET, key: lock, value, token });
  return accepted;
}
