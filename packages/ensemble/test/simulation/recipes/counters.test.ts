import { getEventListeners } from 'node:events';
import type { Client } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../../support/applications.ts';
import { errorOf } from '../../support/simulated-ensemble.ts';

describe('a counter', () => {
  it('loses no addition of many at once, over a change of leader', async () => {
    const world = await applications(1);
    const clients = [await world.connect(), await world.connect(), await world.connect()];
    const sums: number[] = [];
    const raising = clients.map(async (client) => {
      for (let n = 0; n < 10; n += 1) sums.push(await client.counter('c').increment());
    });
    await world.changeLeader();
    await world.complete(Promise.all(raising));
    expect(sums.toSorted((one, two) => one - two)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
    const counter = clients[0]?.counter('c');
    expect(await world.complete(counter?.decrement() ?? Promise.resolve(0))).toBe(29);
    await world.complete(counter?.delete() ?? Promise.resolve());
    expect(await world.complete(counter?.get() ?? Promise.resolve(-1))).toBe(0);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is set, and set only where it is what was expected', async () => {
    const world = await applications(2);
    const counter = (await world.connect()).counter('c');
    expect(await world.complete(counter.compareAndSet(0, 7))).toBe(true);
    expect(await world.complete(counter.compareAndSet(0, 8))).toBe(false);
    expect(await world.complete(counter.get())).toBe(7);
    await world.complete(counter.set(-2));
    expect(await world.complete(counter.add(5))).toBe(3);
  });

  it('refuses what is no whole number, and what would be inexact', async () => {
    const world = await applications(3);
    const client = await world.connect();
    const counter = client.counter('c');
    expect(await world.complete(errorOf(counter.add(0.5)))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    await world.complete(counter.set(Number.MAX_SAFE_INTEGER));
    expect(await world.complete(errorOf(counter.increment()))).toMatchObject({ code: 'LIMIT_EXCEEDED' });
    await world.complete(client.nodes.set('/recipes/counters/c', 'many'));
    expect(await world.complete(errorOf(counter.get()))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a latch', () => {
  it('lets those go on who wait for it, whether they came before it was set or after', async () => {
    const world = await applications(4);
    const [a, b] = [await world.connect(), await world.connect({ resilient: true })];
    let passed = 0;
    const waits = [a, b, b].map(async (client) => {
      await client.latch('l').wait();
      passed += 1;
    });
    await world.pass(200);
    expect(await world.complete(a.latch('l').set(3))).toBe(true);
    expect(await world.complete(b.latch('l').set(9))).toBe(false);
    expect(await world.complete(Promise.all([a.latch('l').countDown(), b.latch('l').countDown()]))).toHaveLength(2);
    expect(await world.complete(a.latch('l').count())).toBe(1);
    // A resilient client goes on waiting in its next session.
    await world.expire(b);
    await world.changeLeader();
    expect(passed).toBe(0);
    expect(await world.complete(a.latch('l').countDown())).toBe(0);
    await world.complete(Promise.all(waits));
    expect(await world.complete(a.latch('l').countDown())).toBe(0);
    await world.complete(a.latch('l').wait());
    await world.complete(a.latch('l').delete());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('refuses counts that cannot be, and to count down what nobody has set', async () => {
    const world = await applications(5);
    const latch = (await world.connect()).latch('l');
    expect(await world.complete(errorOf(latch.set(0)))).toMatchObject({ message: expect.stringMatching(/at least 1/) });
    expect(await world.complete(errorOf(latch.countDown()))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await world.complete(latch.count())).toBeUndefined();
  });
});

describe('a barrier', () => {
  it('holds back whoever waits until it is opened, by whomever', async () => {
    const world = await applications(6);
    const [a, b] = [await world.connect(), await world.connect()];
    await world.complete(b.barrier('b').wait());
    await world.complete(a.barrier('b').close());
    await world.complete(a.barrier('b').close());
    let passed = false;
    const waiting = b
      .barrier('b')
      .wait()
      .then(() => (passed = true));
    await world.complete(a.close());
    await world.pass(3_000);
    expect(passed).toBe(false);
    expect(await world.complete(b.barrier('b').isClosed())).toBe(true);
    await world.complete(b.barrier('b').open());
    await world.complete(waiting);
    await world.complete(b.barrier('b').open());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is waited for no longer than it may be, and leaves neither timer nor listener', async () => {
    const world = await applications(7);
    const client: Client = await world.connect();
    await world.complete(client.barrier('b').close());
    const aborter = new AbortController();
    const { signal } = aborter;
    const before = world.ensemble.world.nowMs;
    const late = await world.complete(errorOf(client.barrier('b').wait({ waitMs: 300, signal })));
    expect(late).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/^barrier "b": .* within 300 ms; it is closed$/),
    });
    expect(world.ensemble.world.nowMs - before).toBeLessThan(350);
    const aborted = errorOf(client.barrier('b').wait({ signal }));
    await world.pass(100);
    const reason = new Error('enough');
    aborter.abort(reason);
    expect(await world.complete(aborted)).toBe(reason);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await world.complete(client.barrier('b').open());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('ends the wait of an ordinary client whose session has expired', async () => {
    const world = await applications(8);
    const [a, b] = [await world.connect(), await world.connect()];
    await world.complete(a.barrier('b').close());
    const waiting = errorOf(b.barrier('b').wait());
    await world.pass(100);
    await world.revoke(b);
    expect(await world.complete(waiting)).toMatchObject({ code: 'SESSION_EXPIRED' });
  });
});
