import {
  asyncMutex,
  E_ALREADY_LOCKED,
  E_CANCELED,
  E_TIMEOUT,
  redlock,
  tryAcquire,
  webLocks,
  withTimeout,
} from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../../support/applications.ts';
import { errorOf } from '../../support/simulated-ensemble.ts';

describe('the façade of Web Locks', () => {
  it('grants in order, calls back with null where asked not to wait, and says who holds and waits', async () => {
    const world = await applications(1);
    const [a, b] = [await world.connect(), await world.connect()];
    let finish = (): void => undefined;
    const tokens: number[] = [];
    const first = webLocks(a).request('r', async ({ name, mode, token }) => {
      tokens.push(token);
      await new Promise<void>((resolve) => (finish = resolve));
      return `${name} ${mode}`;
    });
    await world.ensemble.until(() => tokens.length === 1);
    const second = webLocks(b).request('r', { mode: 'exclusive' }, ({ token }) => tokens.push(token));
    await world.ensemble.until(() => b.status().waits === 1);
    expect(await world.complete(webLocks(b).request('r', { ifAvailable: true }, (lock) => lock))).toBeNull();
    const info = { name: 'r', mode: 'exclusive' };
    expect(await world.complete(webLocks(b).query())).toEqual({
      held: [{ ...info, clientId: String(a.sessionId) }],
      pending: [{ ...info, clientId: String(b.sessionId) }],
    });
    finish();
    expect(await world.complete(first)).toBe('r exclusive');
    await world.complete(second);
    expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Infinity);
    expect(await world.complete(webLocks(b).request('r', { ifAvailable: true }, (lock) => lock?.name))).toBe('r');
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is shared by those who ask for that, and by nobody beside one who has it alone', async () => {
    const world = await applications(4);
    const [a, b] = [await world.connect(), await world.connect()];
    let finish = (): void => undefined;
    const ended = new Promise<void>((resolve) => (finish = resolve));
    const seen: string[] = [];
    const shared = [a, b].map((client) =>
      webLocks(client).request('r', { mode: 'shared' }, async ({ mode }) => {
        seen.push(mode);
        await ended;
      }),
    );
    await world.ensemble.until(() => seen.length === 2);
    expect(seen).toEqual(['shared', 'shared']);
    expect(await world.complete(webLocks(a).request('r', { ifAvailable: true }, (lock) => lock))).toBeNull();
    const alone = webLocks(b).request('r', ({ mode }) => mode);
    finish();
    await world.complete(Promise.all(shared));
    expect(await world.complete(alone)).toBe('exclusive');
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('gives up with the signal, passes on what the callback throws, and rejects with the loss of the lock', async () => {
    const world = await applications(2);
    const [a, b] = [await world.connect(), await world.connect()];
    const own = new Error('of the application');
    expect(await world.complete(errorOf(webLocks(a).request('r', () => Promise.reject(own))))).toBe(own);
    const lost = errorOf(
      webLocks(a).request('r', async ({ signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }),
    );
    await world.ensemble.until(() => a.status().holds === 1);
    const aborter = new AbortController();
    const waiting = errorOf(webLocks(b).request('r', { signal: aborter.signal }, () => undefined));
    await world.ensemble.until(() => b.status().waits === 1);
    aborter.abort(own);
    expect(await world.complete(waiting)).toBe(own);
    await world.revoke(a);
    expect(await world.complete(lost)).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });

  it('refuses what the specification refuses, and what is not to be had', async () => {
    const world = await applications(3);
    const locks = webLocks(await world.connect());
    const { signal } = new AbortController();
    for (const [name, options] of [
      ['-r', {}],
      ['r', { steal: true }],
      ['r', { ifAvailable: true as const, signal }],
    ] as const)
      expect(await errorOf(locks.request(name, options, () => undefined))).toMatchObject({ name: 'NotSupportedError' });
    expect(await errorOf(locks.request('r', { ifavailable: true } as object, () => undefined))).toMatchObject({
      message: expect.stringContaining('did you mean ifAvailable'),
    });
    expect(await errorOf(locks.request('r', undefined as unknown as () => void))).toBeInstanceOf(Error);
  });
});

describe('the façade of async-mutex', () => {
  it('runs one after another over two clients, cancels waits, and bounds them', async () => {
    const world = await applications(4);
    const [a, b] = [asyncMutex(await world.connect(), 'm'), asyncMutex(await world.connect(), 'm')];
    const release = await world.complete(a.acquire());
    expect([a.isLocked(), b.isLocked()]).toEqual([true, false]);
    expect(await world.complete(errorOf(tryAcquire(b).acquire()))).toBe(E_ALREADY_LOCKED);
    expect(await world.complete(errorOf(withTimeout(b, 200).runExclusive(() => undefined)))).toBe(E_TIMEOUT);
    const canceled = errorOf(b.acquire());
    await world.pass(50);
    b.cancel();
    expect(await world.complete(canceled)).toBe(E_CANCELED);
    let free = false;
    const unlocked = b.waitForUnlock().then(() => (free = true));
    await world.pass(50);
    expect(free).toBe(false);
    release();
    release();
    await world.complete(unlocked);
    expect(a.isLocked()).toBe(false);
    expect(await world.complete(b.runExclusive(({ token }) => token))).toBeGreaterThan(0);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('gives back what a failing callback held', async () => {
    const world = await applications(5);
    const mutex = asyncMutex(await world.connect(), 'm');
    const own = new Error('of the application');
    expect(await world.complete(errorOf(mutex.runExclusive(() => Promise.reject(own))))).toBe(own);
    await world.complete(mutex.runExclusive(() => undefined));
    await world.complete(mutex.acquire());
    mutex.release();
    await world.complete(mutex.runExclusive(() => undefined));
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});

describe('the façade of redlock', () => {
  it('locks all resources or none, for as long as they were asked for', async () => {
    const world = await applications(6);
    const [a, b] = [await world.connect(), await world.connect()];
    const lock = await world.complete(redlock(a).acquire(['y', 'x'], 1_000));
    expect(a.status()).toMatchObject({ holds: 1 });
    const quick = { retryCount: 1, retryDelay: 100 };
    expect(await world.complete(errorOf(redlock(b, quick).acquire(['w', 'x'], 1_000)))).toMatchObject({
      code: 'TIMEOUT',
    });
    await world.pass(50);
    expect(b.status().holds).toBe(0);
    const later = await world.complete(redlock(b).acquire(['x', 'y'], 1_000));
    expect(later.token).toBeGreaterThan(lock.token);
    expect(lock.signal.reason).toMatchObject({ locks: ['y', 'x'] });
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(await world.complete(errorOf(lock.extend(1_000)))).toMatchObject({ code: 'LOCK_LOST' });
    expect(await world.complete(errorOf(lock.release()))).toMatchObject({ code: 'LOCK_LOST' });
    await world.complete(later.release());
    expect(later.signal.aborted).toBe(true);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('locks a resource once that is given twice, and refuses what cannot be locked at once', async () => {
    const world = await applications(9);
    const client = await world.connect();
    const locks = redlock(client, { retryCount: 0 });
    const twice = await world.complete(locks.acquire(['x', 'y', 'x'], 1_000));
    expect(twice.resources).toEqual(['x', 'y', 'x']);
    expect(client.status()).toMatchObject({ holds: 1 });
    await world.complete(twice.release());
    const many = Array.from({ length: 65 }, (_, n) => `x${n}`);
    expect(await errorOf(locks.acquire(many, 1_000))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('at most 64'),
    });
    const unnamed = [undefined as unknown as string];
    expect(await errorOf(locks.acquire(unnamed, 1_000))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('never waits in a circle, in whichever order the resources are given', async () => {
    const world = await applications(10);
    const orders = [
      ['x', 'y'],
      ['y', 'z'],
      ['z', 'x'],
    ];
    const all = [await world.connect(), await world.connect(), await world.connect()];
    const rounds = all.map(async (client, at) => {
      const locks = redlock(client, { retryCount: -1 });
      const tokens: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        await locks.using(orders[at] ?? [], 2_000, (_signal, { token }) => Promise.resolve(tokens.push(token)));
      }
      return tokens;
    });
    const tokens = (await world.complete(Promise.all(rounds))).flat();
    expect(new Set(tokens).size).toBe(15);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is not granted one resource while another is not free', async () => {
    const world = await applications(11);
    const [a, b] = [await world.connect(), await world.connect()];
    const x = await world.complete(a.lock('x').acquire());
    const waiting = redlock(b).acquire(['w', 'x'], 5_000);
    await world.ensemble.until(() => b.status().waits === 1);
    await world.pass(200);
    expect(b.status().holds).toBe(0);
    await world.complete(x.release());
    const lock = await world.complete(waiting);
    expect(lock.token).toBeGreaterThan(x.token);
    await world.revoke(b);
    await world.ensemble.until(() => lock.signal.aborted);
    expect(lock.signal.reason).toMatchObject({ locks: ['w', 'x'], reason: 'revoked' });
    expect(lock.remainingMs()).toBe(0);
    expect(await world.complete(errorOf(lock.release()))).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });

  it('extends locks while a routine uses them, and tells it of their loss', async () => {
    const world = await applications(7);
    const client = await world.connect();
    const { clock } = world.ensemble.world.host('application-1').runtime;
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(ms, resolve));
    const used = redlock(client).using(['x'], 1_000, async (signal) => {
      await sleep(3_500);
      return signal.aborted;
    });
    expect(await world.complete(used)).toBe(false);
    expect(client.status().holds).toBe(0);
    const lost = errorOf(
      redlock(client).using(['x'], 1_000, async (signal) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }),
    );
    await world.ensemble.until(() => client.status().holds === 1);
    await world.revoke(client);
    expect(await world.complete(lost)).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('refuses resources and durations that cannot be', async () => {
    const world = await applications(8);
    const locks = redlock(await world.connect());
    expect(await errorOf(locks.acquire([], 1_000))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await errorOf(locks.acquire(['x'], 0))).toMatchObject({ message: expect.stringContaining('duration is 0') });
    expect(await errorOf(locks.using(['x'], 400, () => Promise.resolve()))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
