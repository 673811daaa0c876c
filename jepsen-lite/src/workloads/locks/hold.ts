/** Acquires without a limit, and releases, as most workloads of locks make them; recorded. */

import type { AcquireOptions, HeldLock } from '@holdfast/client';
import type { Caller } from '../workload.ts';

/** Undefined when it was not granted. @param waitMs @default without limit */
export async function takeLock(
  { calls, client }: Caller,
  name: string,
  { waitMs }: Pick<AcquireOptions, 'waitMs'> = {},
): Promise<HeldLock | undefined> {
  const limit = waitMs === undefined ? {} : { waitMs };
  let held: HeldLock | undefined;
  await calls.make({ f: 'acquire', lock: name, session: client.sessionId, ...limit }, async () => {
    held = await client.lock(name).acquire(limit);
    return { token: held.token, hold: held.acquireIndex };
  });
  return held;
}

export async function giveBack({ calls, client }: Caller, lock: string, held: HeldLock): Promise<void> {
  const { token, acquireIndex: hold } = held;
  await calls.make({ f: 'release', lock, session: client.sessionId, token, hold }, async () => {
    await held.release();
    return {};
  });
}
