/**
 * Locks that their owner enters once more while it holds them, as Hazelcast's tests of reentrant locks do: as often as it is allowed to, and
 * left as often. An owner is a lock object of the SDK, which the workers of a session share: some enter it at the same time, and join one
 * wait. A session that ends takes all entries with it.
 */

import type { AcquireOptions, Client, HeldLock } from '@holdfast/client';
import { lockNameFor } from '../../plan/lock-names.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { LOCK_CHECKS, believe, lostBy, type Held } from './hold.ts';

/** Few, so that owners meet. */
const LOCKS = 2;
/** Lock objects of one session for one lock. */
const OWNERS = 2;
/** How often an owner may have entered a lock at once. */
const LIMIT = 3;
const MAX_STEP_MS = 60;
/** Of those that give up, one in so many. */
const GIVE_UP_ONE_IN = 4;
const MAX_WAIT_MS = 600;
/** Of those that enter it twice at the same time, one in so many. */
const TOGETHER_ONE_IN = 3;

export const reentrant: Workload = {
  name: 'reentrant',
  checks: [...LOCK_CHECKS, 'waits', 'belief', 'entries'],
  oneIn: 24,
  takesLocks: true,
  hasRounds: true,
  // Where no lock was entered twice, a plain one would have done as well.
  demands: () => ({ entries: { reentered: 5 }, order: { grantsWithWaiters: 3 } }),
  async step(session) {
    const { random, round } = session;
    const owner = ownerOf(session);
    const entries: Held[] = [];
    try {
      await enterAll(session, owner, entries);
      while (entries.length > 1) {
        await leave(session, owner, entries);
        await pause(session, owner, entries);
      }
    } catch (error) {
      const [entry] = entries;
      if (entry === undefined) throw error;
      lostBy(error, session, owner.lock, entry);
    }
    const entered = entries.length > 0;
    // Of a hold that is lost each entry has to be given back all the same.
    while (entries.length > 0) await leave(session, owner, entries);
    if (entered) round();
    else await session.sleep(random.integer(MAX_STEP_MS));
  },
};

interface Owner {
  readonly name: string;
  readonly lock: string;
  /** The SDK's lock object. */
  readonly object: { acquire(options?: AcquireOptions): Promise<HeldLock> };
}

/** By session: its lock objects are its workers' together. */
const owners = new WeakMap<Client, Map<string, Owner>>();

function ownerOf({ client, random, world }: ClientSession): Owner {
  const lock = lockNameFor('reentrant', random.integer(Math.min(LOCKS, world.locks)));
  const name = `${client.sessionId}.${random.integer(OWNERS)}`;
  const own = owners.get(client) ?? new Map<string, Owner>();
  owners.set(client, own);
  const known = own.get(`${name} ${lock}`);
  if (known !== undefined) return known;
  const owner = { name, lock, object: client.lock(lock, { reentrant: true, limit: LIMIT }) };
  own.set(`${name} ${lock}`, owner);
  return owner;
}

/** Adds to the entries those that it was granted. @throws LockLostError */
async function enterAll(session: ClientSession, owner: Owner, entries: Held[]): Promise<void> {
  const { random } = session;
  const times = 1 + random.integer(LIMIT);
  if (random.integer(TOGETHER_ONE_IN) === 0) {
    await Promise.all(Array.from({ length: 2 }, () => enter(session, owner, entries)));
    await pause(session, owner, entries);
    return;
  }
  for (let left = times; left > 0; left -= 1) {
    if (!(await enter(session, owner, entries))) return;
    await pause(session, owner, entries);
  }
}

async function enter(session: ClientSession, { name, lock, object }: Owner, entries: Held[]): Promise<boolean> {
  const { calls, client, random } = session;
  const limit = random.integer(GIVE_UP_ONE_IN) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {};
  const operation = { f: 'enter', lock, session: client.sessionId, owner: name, limit: LIMIT, ...limit } as const;
  const ask = async (): Promise<{ token: number; hold: number }> => {
    const entry = await object.acquire(limit);
    entries.push(entry);
    return { token: entry.token, hold: entry.acquireIndex };
  };
  // Its workers together may have entered it as often as it may be.
  return await calls.make(operation, ask, ['LIMIT_EXCEEDED']);
}

/** @throws LockLostError */
async function pause(session: ClientSession, { lock }: Owner, entries: readonly Held[]): Promise<void> {
  await session.sleep(session.random.integer(MAX_STEP_MS));
  const [entry] = entries;
  if (entry !== undefined) believe(session, lock, entry);
}

async function leave({ calls, client }: ClientSession, { name, lock }: Owner, entries: Held[]): Promise<void> {
  const entry = entries.pop();
  if (entry === undefined) return;
  const { token, acquireIndex: hold } = entry;
  const operation = { f: 'leave', lock, session: client.sessionId, owner: name, token, hold } as const;
  await calls.make(operation, async () => {
    await entry.release();
    return {};
  });
}
