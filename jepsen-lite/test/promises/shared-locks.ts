/** What an application may rely on of locks that several hold together, that are taken at once, and that their owner enters again. */

import { LockLostError, type Client } from '@holdfast/client';
import { expect, it } from 'vitest';
import type { Subject } from './suite.ts';

/** Within the tests of a subject. @param fresh a name that no test has used */
export function sharedLockPromises(subjectOf: () => Subject, fresh: () => string): void {
  const connected = async (): Promise<readonly [Client, Client, Client]> => {
    const subject = subjectOf();
    await subject.agreed();
    return [await subject.connect(), await subject.connect(), await subject.connect()];
  };

  it('many read at once and one writes alone, and nobody overtakes who waits', async () => {
    const subject = subjectOf();
    const [one, two, writer] = await connected();
    const late = await subject.connect();
    const lock = fresh();
    const first = await subject.complete(one.readWriteLock(lock).read().acquire());
    const second = await subject.complete(two.readWriteLock(lock).read().acquire());
    const writing = writer.readWriteLock(lock).write().acquire();
    await subject.until(() => writer.status().waits === 1);
    const reading = late.readWriteLock(lock).read().acquire();
    await subject.until(() => late.status().waits === 1);
    await subject.complete(first.release());
    await subject.complete(second.verify());
    expect(writer.status()).toMatchObject({ holds: 0, waits: 1 });
    await subject.complete(second.release());
    const written = await subject.complete(writing);
    expect(written.token).toBeGreaterThan(second.token);
    await subject.complete(written.verify());
    expect(late.status()).toMatchObject({ holds: 0, waits: 1 });
    await subject.complete(written.release());
    const read = await subject.complete(reading);
    expect(read.token).toBeGreaterThan(written.token);
    await subject.complete(read.release());
  });

  it('who wrote may go on reading under the same token, and those who wait to read come in', async () => {
    const subject = subjectOf();
    const [one, two, operator] = await connected();
    const lock = fresh();
    const held = await subject.complete(one.readWriteLock(lock).write().acquire());
    const reading = two.readWriteLock(lock).read().acquire();
    await subject.until(() => two.status().waits === 1);
    await subject.complete(held.downgrade());
    const read = await subject.complete(reading);
    await subject.complete(held.verify());
    expect(held.mode).toBe('read');
    expect(read.token).toBeGreaterThan(held.token);
    expect(await subject.complete(operator.admin.lock(lock))).toMatchObject({
      holders: [
        { session: one.sessionId, token: held.token },
        { session: two.sessionId, token: read.token },
      ],
      waiters: [],
    });
    await subject.complete(read.release());
    await subject.complete(held.release());
  });

  it('a semaphore lets out as many permits as it has, and takes back those of a session that ends', async () => {
    const subject = subjectOf();
    const [one, two, three] = await connected();
    const name = fresh();
    const first = await subject.complete(one.semaphore(name, { permits: 3 }).acquire({ permits: 2 }));
    const second = await subject.complete(two.semaphore(name, { permits: 3 }).acquire());
    const waiting = three.semaphore(name, { permits: 3 }).acquire({ permits: 2 });
    await subject.until(() => three.status().waits === 1);
    await subject.complete(second.release());
    expect(three.status()).toMatchObject({ holds: 0, waits: 1 });
    await subject.expire(one);
    const third = await subject.complete(waiting);
    expect(third.permits).toBe(2);
    expect(third.token).toBeGreaterThan(first.token);
    expect(() => first.assertHeld()).toThrow(LockLostError);
    const other = two.semaphore(name, { permits: 4 }).acquire();
    expect(await subject.complete(other.catch((thrown: unknown) => thrown))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await subject.complete(third.release());
  });

  it('several locks are taken together or not at all, under one token', async () => {
    const subject = subjectOf();
    const [one, two, three] = await connected();
    const locks = [fresh(), fresh()] as const;
    const [first, second] = locks;
    const held = await subject.complete(one.lock(second).acquire());
    const taking = two.locks(locks).acquire();
    await subject.until(() => two.status().waits === 1);
    const behind = three.lock(first).acquire();
    await subject.until(() => three.status().waits === 1);
    // It has none of them while it waits, and is overtaken by nobody.
    expect(await subject.complete(one.admin.lock(first))).toMatchObject({
      holders: [],
      waiters: [{ session: two.sessionId }, { session: three.sessionId }],
    });
    await subject.complete(held.release());
    const both = await subject.complete(taking);
    expect(both.locks).toEqual(locks);
    for (const lock of locks) {
      const { holders } = await subject.complete(one.admin.lock(lock));
      expect(holders).toMatchObject([{ session: two.sessionId, token: both.token }]);
    }
    expect(await subject.complete(one.locks(locks).tryAcquire())).toMatchObject({ acquired: false, reason: 'held' });
    await subject.complete(both.release());
    const next = await subject.complete(behind);
    expect(next.token).toBeGreaterThan(both.token);
    await subject.complete(next.release());
  });

  it('a lock that its owner enters again is given back with the last entry', async () => {
    const subject = subjectOf();
    const [client, other] = await connected();
    const name = fresh();
    const lock = client.lock(name, { reentrant: true });
    const outer = await subject.complete(lock.acquire());
    const inner = await subject.complete(lock.acquire());
    expect(inner.token).toBe(outer.token);
    expect(lock.holdCount).toBe(2);
    const waiting = other.lock(name).acquire();
    await subject.until(() => other.status().waits === 1);
    await subject.complete(inner.release());
    await subject.complete(outer.verify());
    expect(other.status()).toMatchObject({ holds: 0, waits: 1 });
    await subject.complete(outer.release());
    const next = await subject.complete(waiting);
    expect(next.token).toBeGreaterThan(outer.token);
    await subject.complete(next.release());
  });

  it('a lock that is lost is lost by every entry, and none of them goes on in a new hold', async () => {
    const subject = subjectOf();
    const [client, other] = await connected();
    const name = fresh();
    const lock = client.lock(name, { reentrant: true });
    const entries = [await subject.complete(lock.acquire()), await subject.complete(lock.acquire())];
    await subject.expire(client);
    expect(lock.holdCount).toBe(0);
    for (const entry of entries) expect(() => entry.assertHeld()).toThrow(LockLostError);
    const again = lock.acquire().catch((thrown: unknown) => thrown);
    expect(await subject.complete(again)).toMatchObject({ code: 'LOCK_LOST' });
    for (const entry of entries) {
      const released = entry.release().catch((thrown: unknown) => thrown);
      expect(await subject.complete(released)).toMatchObject({ code: 'LOCK_LOST' });
    }
    const next = await subject.complete(other.lock(name).acquire());
    expect(next.token).toBeGreaterThan(entries[0]?.token ?? Infinity);
    await subject.complete(next.release());
  });
}
