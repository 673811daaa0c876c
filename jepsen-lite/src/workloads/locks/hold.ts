/** Acquires and releases as most workloads of locks make them; recorded. */

import type { AcquireOptions, HeldLock, Lock } from '@holdfast/client';
import type { LockRequest } from '@holdfast/protocol';
import type { Caller } from '../workload.ts';

/** Undefined when it was not granted. @param waitMs @default without limit */
export async function takeLock(
  caller: Caller,
  name: string,
  limit: Pick<AcquireOptions, 'waitMs'> = {},
): Promise<HeldLock | undefined> {
  return await takeAs(caller, name, undefined, () => caller.client.lock(name), limit);
}

/** The same, of any kind. `asked`: what the lock is asked for; undefined for a mutex. */
export async function takeAs<H extends HeldLock>(
  { calls, client }: Caller,
  name: string,
  asked: LockRequest | undefined,
  lockOf: () => Pick<Lock<H>, 'acquire'>,
  { waitMs }: Pick<AcquireOptions, 'waitMs'> = {},
): Promise<H | undefined> {
  const limit = waitMs === undefined ? {} : { waitMs };
  const how = asked === undefined ? limit : { ...limit, asked };
  let held: H | undefined;
  await calls.make(
    { f: 'acquire', lock: name, session: client.sessionId, ...how },
    async () => {
      held = await lockOf().acquire(limit);
      return { token: held.token, hold: held.acquireIndex };
    },
    UNSUPPORTED,
  );
  return held;
}

/** Until every server knows the kind of lock. */
const UNSUPPORTED = ['UNSUPPORTED'];

export async function giveBack({ calls, client }: Caller, lock: string, held: HeldLock): Promise<void> {
  const { token, acquireIndex: hold } = held;
  await calls.make({ f: 'release', lock, session: client.sessionId, token, hold }, async () => {
    await held.release();
    return {};
  });
}

/** `assertHeld()`; false when it is lost, which is recorded. */
export function believes({ calls, client }: Caller, lock: string, held: HeldLock, token = held.token): boolean {
  const what = { lock, session: client.sessionId, token, hold: held.acquireIndex };
  const { loss } = held;
  if (loss === undefined && held.remainingMs() > 0) {
    held.assertHeld();
    calls.record({ type: 'believe', ...what });
    return true;
  }
  const reason = loss?.reason ?? 'expired';
  if (reason !== 'released') calls.record({ type: 'lost', ...what, reason });
  return false;
}
