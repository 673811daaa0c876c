/** What workloads do with locks, which is recorded: acquires, the question whether one still holds, losses and releases. */

import { LockLostError, type AcquireOptions, type HeldLock } from '@holdfast/client';
import type { LockRequest } from '@holdfast/protocol';
import { isUnsupported } from '../nodes/use-node.ts';
import type { Caller, ClientSession } from '../workload.ts';

/** What whoever takes locks is judged by, of whatever kind they are. */
export const LOCK_CHECKS = [
  'grants',
  'owners',
  'tokens',
  'order',
  'exclusion',
  'ghosts',
  'expiry',
  'linearizable-locks',
] as const;

/** @default without limit */
type Limit = Pick<AcquireOptions, 'waitMs'>;

/** What every hold has, whatever it is of. */
export type Held = Pick<HeldLock, 'token' | 'acquireIndex' | 'assertHeld' | 'release'>;

/** Undefined: it was not granted. `unsupported`: not all servers know such locks yet, which is an answer, too. */
export type Taken<H extends Held> = H | 'unsupported' | undefined;

/** Undefined when it was not granted. @param waitMs @default without limit */
export async function takeLock(
  { calls, client }: Caller,
  name: string,
  { waitMs }: Limit = {},
): Promise<HeldLock | undefined> {
  const limit = waitMs === undefined ? {} : { waitMs };
  let held: HeldLock | undefined;
  await calls.make({ f: 'acquire', lock: name, session: client.sessionId, ...limit }, async () => {
    held = await client.lock(name).acquire(limit);
    return { token: held.token, hold: held.acquireIndex };
  });
  return held;
}

/** What is asked of a lock that is no plain mutex, or not by itself. */
interface Wanted extends Limit {
  readonly lock: string;
  readonly asked?: LockRequest;
  readonly others?: readonly string[];
  readonly delayMs?: number;
}

/** @param how asks the SDK for just that */
export async function take<H extends Held>(
  { calls, client }: Caller,
  wanted: Wanted,
  how: () => Promise<H>,
): Promise<Taken<H>> {
  let taken: Taken<H>;
  const ask = async (): Promise<{ token: number; hold: number }> => {
    try {
      const held = await how();
      taken = held;
      return { token: held.token, hold: held.acquireIndex };
    } catch (error) {
      if (isUnsupported(error)) taken = 'unsupported';
      throw error;
    }
  };
  await calls.make({ f: 'acquire', session: client.sessionId, ...wanted }, ask, ['UNSUPPORTED']);
  return taken;
}

/** All of these locks by one acquire, which is told as one of each. */
export async function takeTogether(
  caller: Caller,
  locks: readonly string[],
  limit: Limit = {},
): Promise<Taken<HeldLock>> {
  let asked: Promise<HeldLock> | undefined;
  const ask = async (): Promise<HeldLock> => {
    // That each is asked for is told before the SDK is asked for all.
    await Promise.resolve();
    return await (asked ??= caller.client.locks(locks).acquire(limit));
  };
  const taken = await Promise.all(
    locks.map((lock) => take(caller, { ...limit, lock, others: locks.filter((other) => other !== lock) }, ask)),
  );
  return taken[0];
}

export async function giveBack({ calls, client }: Caller, lock: string, held: Held): Promise<void> {
  const { token, acquireIndex: hold } = held;
  await calls.make({ f: 'release', lock, session: client.sessionId, token, hold }, async () => {
    await held.release();
    return {};
  });
}

/** @throws LockLostError where it is held no longer */
export function believe({ calls, client, plan, world }: ClientSession, lock: string, held: Held): void {
  held.assertHeld();
  const { token, acquireIndex: hold } = held;
  calls.record({ type: 'believe', lock, session: client.sessionId, token, hold });
  world.believed(plan.name, lock, token, hold);
}

/**
 * For who waits for long while it holds a lock: records the loss when the client hears of it. The client gives a lost hold back by itself, and
 * its session may go on and take the lock anew.
 */
export function followLoss(session: ClientSession, lock: string, held: HeldLock): void {
  const { signal } = held;
  signal.addEventListener('abort', () => lostBy(signal.reason, session, lock, held), { once: true });
}

/** Records that the hold is lost, if that is what the error says. Anything else is thrown on. */
export function lostBy(error: unknown, { calls, client }: ClientSession, lock: string, held: Held): void {
  if (!(error instanceof LockLostError)) throw error;
  const { reason } = error;
  if (reason === 'released') return;
  const { token, acquireIndex: hold } = held;
  calls.record({ type: 'lost', lock, session: client.sessionId, token, hold, reason });
}
