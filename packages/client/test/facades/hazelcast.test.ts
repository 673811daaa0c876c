import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { AcquireLimitError, HoldfastError, InvalidArgumentError, LockLostError } from '../../src/errors.ts';
import { fencedLock, INVALID_FENCE, type FencedLock } from '../../src/facades/hazelcast.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

async function owners(): Promise<
  Scenario & { readonly client: Client; readonly one: FencedLock; readonly two: FencedLock }
> {
  const all = await scenario();
  const [client, other] = [await all.connect(), await all.connect()];
  return { ...all, client, one: fencedLock(client, 'f'), two: fencedLock(other, 'f') };
}

describe('the façade of FencedLock', () => {
  it('gives the same fence until the last unlock, and a higher one to the next owner', async () => {
    const { world, ensemble, one, two } = await owners();
    const fence = await world.settled(one.lockAndGetFence());
    await world.settled(one.lock());
    expect(await world.settled(one.tryLock())).toBe(true);
    expect(await world.settled(one.tryLockAndGetFence(500))).toBe(fence);
    expect(await world.settled(one.getFence())).toBe(fence);
    expect(fence).toBeGreaterThan(INVALID_FENCE);
    const next = two.lockAndGetFence();
    for (let left = 4; left > 0; left -= 1) {
      expect(await world.settled(one.getLockCount())).toBe(left);
      await world.settled(one.unlock());
    }
    expect(await world.settled(next)).toBeGreaterThan(fence);
    await world.settled(two.unlock());
    expect(ensemble.queue('f')).toEqual([]);
    expect(one.name).toBe('f');
  });

  it('says who holds it: this owner, another, or nobody', async () => {
    const { world, one, two } = await owners();
    const seen = async (lock: FencedLock) => [
      await world.settled(lock.isLocked()),
      await world.settled(lock.isLockedByCurrentOwner()),
      await world.settled(lock.getLockCount()),
    ];
    expect(await seen(one)).toEqual([false, false, 0]);
    await world.settled(one.lock());
    await world.settled(one.lock());
    expect(await seen(one)).toEqual([true, true, 2]);
    expect(await seen(two)).toEqual([true, false, 1]);
  });

  it('tries no longer than it may, and gives up a wait with its signal', async () => {
    const { world, ensemble, one, two } = await owners();
    await world.settled(one.lock());
    expect(await world.settled(two.tryLock())).toBe(false);
    expect(await world.settled(two.tryLock(-5))).toBe(false);
    const before = world.nowMs;
    expect(await world.settled(two.tryLockAndGetFence(300))).toBe(INVALID_FENCE);
    expect(world.nowMs - before).toBeGreaterThanOrEqual(300);
    const aborter = new AbortController();
    const reason = new Error('no longer needed');
    const waiting = world.rejection(two.lock({ signal: aborter.signal }));
    await world.until(() => ensemble.queue('f').length === 2);
    aborter.abort(reason);
    expect(await waiting).toBe(reason);
    await world.until(() => ensemble.queue('f').length === 1);
    expect(await world.rejection(two.tryLock(Number.NaN))).toBeInstanceOf(InvalidArgumentError);
  });

  it('waits without a limit, whatever that of the client is', async () => {
    const { world, ensemble, one, connect } = await owners();
    const two = fencedLock(await connect({ defaultWaitMs: 200 }), 'f');
    await world.settled(one.lock());
    const waiting = two.lock();
    await world.sleep(5_000);
    expect(ensemble.queue('f')).toHaveLength(2);
    await world.settled(one.unlock());
    await world.settled(waiting);
  });

  it('refuses one lock more than its limit, as an error or by the invalid fence', async () => {
    const { world, client } = await owners();
    const lock = fencedLock(client, 'g', { limit: 1 });
    await world.settled(lock.lock());
    expect(await world.rejection(lock.lock())).toBeInstanceOf(AcquireLimitError);
    expect(await world.settled(lock.tryLock(1_000))).toBe(false);
    expect(await world.settled(lock.tryLockAndGetFence())).toBe(INVALID_FENCE);
    const unlimited = fencedLock(client, 'h', { limit: 0 });
    for (let count = 0; count < 5; count += 1) await world.settled(unlimited.lock());
    expect(await world.settled(unlimited.getLockCount())).toBe(5);
    for (const limit of [-1, 0.5, Number.POSITIVE_INFINITY])
      expect(() => fencedLock(client, 'g', { limit })).toThrow(`limit is ${limit}; it must be a whole number`);
    expect(() => fencedLock(client, '')).toThrow(InvalidArgumentError);
  });

  it('refuses what only an owner may: with the code NOT_HELD', async () => {
    const { world, one, two } = await owners();
    await world.settled(one.lock());
    for (const call of [() => two.unlock(), () => two.getFence()]) {
      const error = await world.rejection(call());
      expect(error).toBeInstanceOf(HoldfastError);
      expect(error).toMatchObject({ code: 'NOT_HELD' });
      expect((error as Error).message).toContain('lock "f" is not held by this owner');
    }
  });

  it('says that it was lost until it is unlocked as often as it was locked, and then begins anew', async () => {
    const { world, ensemble, one } = await owners();
    const fence = await world.settled(one.lockAndGetFence());
    await world.settled(one.lock());
    ensemble.revoke(ensemble.queue('f')[0]?.acquireIndex ?? 0);
    await world.sleep(10);
    for (const call of [
      () => one.lock(),
      () => one.tryLock(),
      () => one.getFence(),
      () => one.isLocked(),
      () => one.isLockedByCurrentOwner(),
      () => one.getLockCount(),
      () => one.unlock(),
      () => one.lock(),
      () => one.unlock(),
    ])
      expect(await world.rejection(call())).toBeInstanceOf(LockLostError);
    expect(await world.rejection(one.unlock())).toMatchObject({ code: 'NOT_HELD' });
    expect(await world.settled(one.lockAndGetFence())).toBeGreaterThan(fence);
  });
});
