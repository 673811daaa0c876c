/** Hazelcast's four tests of its lock, with the end of a session added: through the façade, to whole servers. */

import { fencedLock, INVALID_FENCE, LockLostError, NotOwnerError, type Client } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEnsemble, type TestEnsemble } from '../src/index.ts';

let ensemble: TestEnsemble;
let a: Client;
let b: Client;

beforeEach(async () => {
  ensemble = await testEnsemble({ servers: 1 });
  a = await ensemble.connect();
  b = await ensemble.connect();
});

afterEach(async () => {
  await ensemble.close();
});

async function rejection(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a fenced lock in the shape of Hazelcast', () => {
  it('excludes others, and its fences rise', async () => {
    const [mine, yours] = [fencedLock(a, 'l'), fencedLock(b, 'l')];
    const fence = await mine.lockAndGetFence();
    expect(await yours.tryLock()).toBe(false);
    expect(await yours.tryLockAndGetFence()).toBe(INVALID_FENCE);
    expect(await rejection(yours.unlock())).toBeInstanceOf(NotOwnerError);
    const waiting = yours.lockAndGetFence();
    await mine.unlock();
    expect(await waiting).toBeGreaterThan(fence);
    expect(mine.getName()).toBe('l');
  });

  it('is entered again by its owner under one fence, and counts', async () => {
    const [mine, yours] = [fencedLock(a, 'l'), fencedLock(b, 'l')];
    const fence = await mine.lockAndGetFence();
    expect(await mine.lockAndGetFence()).toBe(fence);
    expect(await mine.tryLockAndGetFence()).toBe(fence);
    expect([mine.getFence(), await mine.getLockCount(), await yours.getLockCount()]).toEqual([fence, 3, 3]);
    expect([await yours.isLocked(), await yours.isLockedByCurrentOwner(), await mine.isLockedByCurrentOwner()]).toEqual(
      [true, false, true],
    );
    for (let entries = 3; entries > 0; entries -= 1) {
      expect(await mine.getLockCount()).toBe(entries);
      await mine.unlock();
    }
    expect(await yours.isLocked()).toBe(false);
    expect(() => mine.getFence()).toThrow(NotOwnerError);
    expect(await rejection(mine.unlock())).toBeInstanceOf(NotOwnerError);
  });

  it('is entered up to its limit: a try says false', async () => {
    const lock = fencedLock(a, 'l', { limit: 2 });
    await lock.lock();
    await lock.lock();
    expect(await lock.tryLock()).toBe(false);
    expect(await lock.getLockCount()).toBe(2);
    expect(() => fencedLock(a, 'l', { limits: 2 } as never)).toThrow(/did you mean limit/);
  });

  it('excludes two owners of one client', async () => {
    const [one, other] = [fencedLock(a, 'l'), fencedLock(a, 'l')];
    await one.lock();
    expect(await other.tryLock({ waitMs: 20 })).toBe(false);
  });

  it('says once that the ownership was lost with the session, and then has none', async () => {
    const lock = fencedLock(a, 'l');
    const fence = await lock.lockAndGetFence();
    await lock.lock();
    await ensemble.expire(a);
    expect(await rejection(lock.lock())).toBeInstanceOf(LockLostError);
    expect(() => lock.getFence()).toThrow(NotOwnerError);
    expect(await fencedLock(b, 'l').lockAndGetFence()).toBeGreaterThan(fence);
  });
});
