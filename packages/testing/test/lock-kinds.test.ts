/** What the kinds of locks promise to applications: through the SDK, to whole servers. */

import {
  AcquireLimitError,
  InvalidArgumentError,
  LockLostError,
  NotFoundError,
  TimeoutError,
  type Client,
} from '@holdfast/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testEnsemble, type TestEnsemble } from '../src/index.ts';

let ensemble: TestEnsemble;
let a: Client;
let b: Client;
let locks = 0;

beforeAll(async () => {
  ensemble = await testEnsemble({ servers: 1 });
  a = await ensemble.connect({ label: 'a' });
  b = await ensemble.connect({ label: 'b' });
});

afterAll(async () => {
  await ensemble.close();
});

/** Of each test its own. */
function aLock(): string {
  locks += 1;
  return `lock-${locks}`;
}

async function rejection(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a read-write lock', () => {
  it('is shared by readers, whose floor rises and is told when the first of them leaves', async () => {
    const name = aLock();
    const first = await a.readWriteLock(name).read().acquire();
    const second = await b.readWriteLock(name).read().acquire();
    expect([first.mode, first.floor, second.floor]).toEqual(['read', first.token, first.token]);
    const told = new Promise<readonly number[]>((resolve) => second.onFloorRaised((...raised) => resolve(raised)));
    await first.release();
    await ensemble.advance('1s');
    expect(await told).toEqual([second.token, second.token]);
    expect(second.floor).toBe(second.token);
    await second.release();
  });

  it('excludes a writer, who is granted when the last reader has left, and lets readers in again when it is downgraded', async () => {
    const name = aLock();
    const lock = a.readWriteLock(name);
    const reading = await lock.read().acquire();
    const denied = await b.readWriteLock(name).write().tryAcquire();
    expect(denied).toMatchObject({ acquired: false, reason: 'held', holder: { label: 'a', token: reading.token } });
    const writing = b.readWriteLock(name).write().acquire();
    await reading.release();
    const written = await writing;
    const next = lock.read().acquire();
    await written.downgrade();
    expect(written.mode).toBe('read');
    expect((await next).floor).toBe(written.token);
    await written.verify();
    await written.release();
    await (await next).release();
  });

  it('refuses an upgrade with what to do instead, and a downgrade of who reads', async () => {
    const held = await a.readWriteLock(aLock()).read().acquire();
    const refused = await rejection(held.upgrade());
    expect(refused).toBeInstanceOf(InvalidArgumentError);
    expect((refused as Error).message).toMatch(/wait for each other for ever; release it, acquire for writing/);
    expect(await rejection(held.downgrade())).toBeInstanceOf(InvalidArgumentError);
    await held.verify();
    await held.release();
    expect(await rejection(held.downgrade())).toBeInstanceOf(LockLostError);
  });

  it('gives a wait up like any other', async () => {
    const name = aLock();
    const held = await a.readWriteLock(name).write().acquire();
    const waiting = rejection(b.readWriteLock(name).read().acquire({ waitMs: 50 }));
    await ensemble.advance('100ms');
    expect(await waiting).toBeInstanceOf(TimeoutError);
    await held.release();
  });
});

describe('a semaphore', () => {
  it('gives out as many permits as it has, several at once, and takes some of them back', async () => {
    const name = aLock();
    const [mine, yours] = [a, b].map((client) => client.semaphore(name, { permits: 3 }));
    const two = await mine!.acquire({ permits: 2 });
    expect(two.permits).toBe(2);
    const both = yours!.acquire({ permits: 2 });
    expect((await yours!.tryAcquire()).acquired).toBe(false);
    await two.giveBack(1);
    expect([two.permits, (await both).permits]).toEqual([1, 2]);
    expect(await rejection(two.giveBack(1))).toBeInstanceOf(InvalidArgumentError);
    await two.release();
    await (await both).release();
  });

  it('is one of its number of permits', async () => {
    const name = aLock();
    const held = await a.semaphore(name, { permits: 3 }).acquire();
    const other = await rejection(b.semaphore(name, { permits: 4 }).acquire());
    expect(other).toBeInstanceOf(InvalidArgumentError);
    expect((other as Error).message).toContain('in use with 3 permits, and this asks for one with 4');
    expect(await rejection(b.lock(name).acquire())).toBeInstanceOf(InvalidArgumentError);
    await held.release();
    for (const permits of [0, 1.5, Number.NaN, 2_000_000]) {
      expect(() => a.semaphore(name, { permits })).toThrow(/permits is .*; it must be a whole number from 1/);
    }
    expect(() => a.semaphore(name, { permits: 2 }).acquire({ permits: 3 })).toThrow(/from 1 to 2/);
    expect(() => a.semaphore(name, { permits: 2 }).acquire({ count: 1 } as never)).toThrow(/has no option "count"/);
  });

  it('runs a body with its permits', async () => {
    const name = aLock();
    const ran = await a.semaphore(name, { permits: 1 }).withPermits((held) => held.permits);
    expect(ran).toBe(1);
    expect((await a.admin.lock(name)).holders).toEqual([]);
  });
});

describe('a reentrant lock', () => {
  it('is entered again under one token without waiting, and is another’s when every entry was released', async () => {
    const name = aLock();
    const [mine, other] = [a.lock(name, { reentrant: true }), a.lock(name, { reentrant: true })];
    const outer = await mine.acquire();
    const waiting = other.acquire();
    const inner = await mine.acquire();
    expect([inner.token, inner.entries, outer.entries]).toEqual([outer.token, 2, 2]);
    expect(await mine.count()).toEqual({ entries: 2, token: outer.token, mine: true });
    expect(await other.count()).toMatchObject({ entries: 2, mine: false });
    await outer.release();
    inner.assertHeld();
    await inner.release();
    const next = await waiting;
    expect(next.token).toBeGreaterThan(outer.token);
    await next.release();
    expect(await mine.count()).toEqual({ entries: 0, token: 0, mine: false });
  });

  it('makes an entry of an acquire that had to wait for its own lock object', async () => {
    const name = aLock();
    const held = await b
      .lock(name)
      .acquire()
      .then((each) => each.release())
      .then(() => b.lock(name, { reentrant: true }).acquire());
    const lock = a.lock(name, { reentrant: true });
    const [first, second] = [lock.acquire(), lock.acquire()];
    const gaveUp = rejection(lock.acquire({ waitMs: 20 }));
    await ensemble.advance('100ms');
    expect(await gaveUp).toBeInstanceOf(TimeoutError);
    expect((await a.admin.lock(name)).waiters).toHaveLength(1);
    await held.release();
    expect((await first).token).toBe((await second).token);
    await (await first).release();
    await (await second).release();
  });

  it('is entered up to its limit', async () => {
    const lock = a.lock(aLock(), { reentrant: true, limit: 2 });
    const [outer, inner] = [await lock.acquire(), await lock.acquire()];
    expect(await rejection(lock.acquire())).toBeInstanceOf(AcquireLimitError);
    await inner.release();
    await outer.release();
    expect(() => a.lock('x', { reentrant: true, limit: 0 })).toThrow(/limit is 0; it must be a whole number from 1/);
    expect(() => a.lock('x', { limit: 2 })).toThrow(/limit is for a reentrant lock/);
    expect(() => a.lock('x', { reentrent: true } as never)).toThrow(/did you mean reentrant/);
  });

  it('is lost with all its entries', async () => {
    const name = aLock();
    const client = await ensemble.connect();
    const lock = client.lock(name, { reentrant: true });
    const entries = [await lock.acquire(), await lock.acquire()];
    const [place] = (await a.admin.lock(name)).holders;
    if (place === undefined) throw new Error('nobody holds it');
    const token = await a.admin.revoke(name, place);
    expect(token).toBeGreaterThan(place.token);
    await ensemble.advance('1s');
    expect(entries.map(({ loss }) => loss?.reason)).toEqual(['revoked', 'revoked']);
    expect(await rejection(a.admin.revoke(name, place))).toBeInstanceOf(NotFoundError);
    await client.close();
  });
});

describe('a revocation of one who shares a lock', () => {
  it('raises the tokens of those who stay above that of the hold, and tells them', async () => {
    const name = aLock();
    const stays = await a.readWriteLock(name).read().acquire();
    const taken = await b.readWriteLock(name).read().acquire();
    const before = stays.token;
    const places = (await a.admin.lock(name)).holders;
    const token = await a.admin.revoke(name, places[1]!);
    await ensemble.advance('1s');
    expect(taken.loss?.reason).toBe('revoked');
    expect([stays.token, stays.floor]).toEqual([token, token]);
    expect(token).toBeGreaterThan(before);
    await stays.verify();
    await stays.release();
  });
});

it('knows all kinds from the beginning', async () => {
  const fresh = await testEnsemble();
  const held = await (await fresh.connect()).readWriteLock('a').read().acquire({ waitMs: 1_000 });
  held.assertHeld();
  await fresh.close();
});
