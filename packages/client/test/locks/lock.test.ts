import { describe, expect, it } from 'vitest';
import { HoldfastError, InvalidArgumentError, LockLostError, TimeoutError } from '../../src/errors.ts';
import type { ClientEventOf } from '../../src/events.ts';
import type { AcquireOptions } from '../../src/locks/acquiring.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario } from '../support/scenario.ts';

describe('a lock', () => {
  it('is granted with the log index of the grant as its token', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    expect(held.token).toBe(ensemble.queue('a')[0]?.token);
    expect(held.tokenText).toBe(String(held.token).padStart(16, '0'));
    held.assertHeld();
    expect(held.remainingMs()).toBeGreaterThan(9_000);
    expect(held.signal.aborted).toBe(false);
    await world.settled(held.verify());
    await world.settled(held.release());
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('excludes two acquires of one client', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const first = await world.settled(client.lock('a').acquire());
    const second = client.lock('a').acquire();
    await world.sleep(1_000);
    await world.settled(first.release());
    expect((await world.settled(second)).token).toBeGreaterThan(first.token);
  });

  it('refuses a name that no lock can have, before anything is sent', async () => {
    const { connect } = await scenario();
    const client = await connect();
    expect(() => client.lock('')).toThrow(InvalidArgumentError);
    expect(() => client.lock('x'.repeat(257))).toThrow(/256/);
    expect(() => client.lock('\ud800')).toThrow(InvalidArgumentError);
  });

  it('refuses a wait that is no duration', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    expect(await world.rejection(client.lock('a').acquire({ waitMs: -1 }))).toBeInstanceOf(InvalidArgumentError);
    expect(await world.rejection(client.lock('a').acquire({ waitMs: Number.NaN }))).toBeInstanceOf(
      InvalidArgumentError,
    );
  });
});

describe('an option that no acquire has', () => {
  it('is refused before anything is sent, with the one that was meant', async () => {
    const { world, ensemble, connect } = await scenario();
    const lock = (await connect()).lock('a');
    const wrong = (options: unknown): AcquireOptions => options as AcquireOptions;
    for (const [options, message] of [
      [{ waitMS: 5 }, 'did you mean waitMs?'],
      [{ wait: 5 }, 'did you mean waitMs?'],
      [{ timeoutMs: 100 }, '"timeoutMs"'],
      [100, 'it was given 100'],
      [null, 'it was given null'],
    ] as const) {
      for (const call of [
        async () => await lock.acquire(wrong(options)),
        async () => await lock.tryAcquire(wrong(options)),
        async () => await lock.withLock(() => undefined, wrong(options)),
      ]) {
        const error = await world.rejection(call());
        expect(error).toBeInstanceOf(InvalidArgumentError);
        expect((error as Error).message).toContain(message);
      }
    }
    expect(ensemble.requests()).toEqual([]);
  });
});

describe('tryAcquire', () => {
  it('leaves nothing behind when the lock is held, and says by whom', async () => {
    const { world, ensemble, connect } = await scenario();
    const holder = await connect();
    const other = await connect();
    const held = await world.settled(holder.lock('a').acquire());
    const attempt = await world.settled(other.lock('a').tryAcquire());
    expect(attempt).toMatchObject({
      acquired: false,
      reason: 'held',
      holder: { session: holder.sessionId, token: held.token },
    });
    expect(ensemble.queue('a')).toHaveLength(1);
  });

  it('says timeout after waitMs, and leaves nothing behind either', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const attempt = await world.settled(client.lock('a').tryAcquire({ waitMs: 500 }));
    expect(attempt).toMatchObject({ acquired: false, reason: 'timeout', holder: { token: held.token } });
    await world.until(() => ensemble.queue('a').length === 1);
  });

  it('says cancelled when its signal aborts, before or during the wait', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    await world.settled(client.lock('a').acquire());
    expect(await world.settled(client.lock('a').tryAcquire({ signal: AbortSignal.abort() }))).toMatchObject({
      reason: 'cancelled',
    });
    const aborter = new AbortController();
    const attempt = client.lock('a').tryAcquire({ waitMs: 5_000, signal: aborter.signal });
    await world.sleep(100);
    aborter.abort();
    expect(await world.settled(attempt, 10)).toMatchObject({ acquired: false, reason: 'cancelled' });
  });

  it('acquires a free lock', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const attempt = await world.settled(client.lock('a').tryAcquire({ waitMs: 0 }));
    expect(attempt.acquired).toBe(true);
    if (attempt.acquired) await world.settled(attempt.held.release());
  });
});

describe('withLock', () => {
  it('returns what the body returns, and has released by then', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const result = await world.settled(client.lock('a').withLock((held) => held.token * 2));
    expect(result).toBeGreaterThan(0);
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('rejects with the loss when the lock was lost and the body did not notice', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const work = client.lock('a').withLock(async (held) => {
      ensemble.revoke(held.acquireIndex);
      await new Promise<void>((resolve) => world.schedule(100, resolve));
      return 'done';
    });
    const error = await world.rejection(work);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', lock: 'a' });
  });

  it("rejects with the body's own error, which carries the loss as its cause", async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const own = new Error('the body failed');
    const work = client.lock('a').withLock(async (held) => {
      ensemble.revoke(held.acquireIndex);
      await new Promise<void>((resolve) => world.schedule(100, resolve));
      throw own;
    });
    expect(await world.rejection(work)).toBe(own);
    expect(own.cause).toBeInstanceOf(LockLostError);
  });

  it("releases when the body fails, and masks the body's error by nothing", async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const own = new Error('the body failed');
    const work = client.lock('a').withLock(() => {
      throw own;
    });
    expect(await world.rejection(work)).toBe(own);
    expect(own.cause).toBeUndefined();
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('leaves alone a lock that the body has released', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const work = client.lock('a').withLock(async (held) => {
      await held.release();
      return 'early';
    });
    expect(await world.settled(work)).toBe('early');
    expect(ensemble.requests().filter(({ command }) => command === 'release')).toHaveLength(1);
  });

  it('rejects with the loss when only the release finds it', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    // The server takes the hold away and its message is still under way when the body ends.
    const work = client.lock('a').withLock((held) => ensemble.revoke(held.acquireIndex));
    expect(await world.rejection(work)).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });
});

describe('release', () => {
  it('marks the handle lost before the frame leaves', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const { signal } = held;
    const released = held.release();
    expect(signal.aborted).toBe(true);
    expect(() => held.assertHeld()).toThrow(LockLostError);
    expect(held.remainingMs()).toBe(0);
    await world.settled(released);
    expect(held.release()).toBe(released);
  });

  it('rejects when the lock was lost already', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.revoke(held.acquireIndex);
    await world.until(() => held.signal.aborted);
    expect(held.signal.reason).toBeInstanceOf(LockLostError);
    expect(await world.rejection(held.release())).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });

  it('is carried out when the ensemble is back, though its caller was told of the timeout', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect({ requestTimeoutMs: 1_000, maxQueuedRequests: 1 });
    const held = await world.settled(client.lock('a').acquire());
    for (const server of ensemble.servers) server.host.paused = true;
    await world.until(() => client.state === 'suspended');
    // Not even a full queue keeps it back.
    const waiting = client.nodes.create('/n', undefined, { timeoutMs: 5_000 });
    expect(await world.rejection(held.release())).toMatchObject({ code: 'TIMEOUT', indeterminate: true });
    for (const server of ensemble.servers) server.host.paused = false;
    await world.settled(waiting);
    await world.until(() => ensemble.queue('a').length === 0);
  });

  it('is what the end of an `await using` block does, without errors of its own', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const block = async (): Promise<void> => {
      // oxlint-disable-next-line typescript/await-thenable -- the linter does not load the library that declares Symbol.asyncDispose
      await using held = await client.lock('a').acquire();
      held.assertHeld();
    };
    await world.settled(block());
    expect(ensemble.queue('a')).toEqual([]);
    const lost = await world.settled(client.lock('a').acquire());
    ensemble.revoke(lost.acquireIndex);
    await world.settled(lost[Symbol.asyncDispose]());
  });
});

describe('a release that is not confirmed in time', () => {
  it('is an event with lock and token, however the lock was released, and goes on in the background', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect({ requestTimeoutMs: 500, sessionTimeoutMs: 60_000 });
    const events: ClientEventOf<'release-unconfirmed'>[] = [];
    const remove = client.events.on('release-unconfirmed', (event) => events.push(event));
    const held = await world.settled(client.lock('a').acquire());
    const disposed = await world.settled(client.lock('b').acquire());
    let token = 0;
    let begin = (): void => {};
    const body = client.lock('c').withLock(async (own) => {
      token = own.token;
      await new Promise<void>((resolve) => (begin = resolve));
      return 'result';
    });
    await world.until(() => token !== 0);
    for (const server of ensemble.servers)
      server.hook = (message) => (isCommand(message, 'release') ? 'ignore' : 'handle');
    begin();
    const explicit = world.rejection(held.release());
    expect(await world.settled(Promise.all([body, disposed[Symbol.asyncDispose]()]))).toEqual(['result', undefined]);
    expect(await explicit).toBeInstanceOf(TimeoutError);
    const { sessionId } = client;
    expect(events.toSorted((one, other) => one.lock.localeCompare(other.lock))).toMatchObject([
      { type: 'release-unconfirmed', sessionId, lock: 'a', token: held.token, error: { code: 'TIMEOUT' } },
      { type: 'release-unconfirmed', sessionId, lock: 'b', token: disposed.token, error: { code: 'TIMEOUT' } },
      { type: 'release-unconfirmed', sessionId, lock: 'c', token, error: { code: 'TIMEOUT' } },
    ]);
    for (const server of ensemble.servers) server.hook = () => 'handle';
    ensemble.serverOf(sessionId).disconnectAll();
    await world.until(() => ['a', 'b', 'c'].every((name) => ensemble.queue(name).length === 0));
    remove();
    expect(events).toHaveLength(3);
  });

  it('is no event when it is confirmed, or when the lock was lost before', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const events: string[] = [];
    client.events.on('release-unconfirmed', ({ lock }) => events.push(lock));
    await world.settled(client.lock('a').withLock(() => undefined));
    const held = await world.settled(client.lock('b').acquire());
    ensemble.revoke(held.acquireIndex);
    await world.rejection(held.release());
    const last = await world.settled(client.lock('c').acquire());
    await world.settled(client.close());
    expect(await world.rejection(last.release())).toMatchObject({ code: 'LOCK_LOST', reason: 'closed' });
    expect(events).toEqual([]);
  });
});

describe('verify', () => {
  it('asks the ensemble, and finds a revocation whose message is still under way', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.session(client.sessionId).send = undefined;
    ensemble.revoke(held.acquireIndex);
    held.assertHeld();
    expect(await world.rejection(held.verify())).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(held.signal.aborted).toBe(true);
  });
});

describe('errors', () => {
  it('are HoldfastErrors that say whether to retry and whether anything is unknown', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    await world.settled(client.lock('a').acquire());
    const error = await world.rejection(client.lock('a').acquire({ waitMs: 100 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ name: 'TimeoutError', code: 'TIMEOUT', retryable: true, indeterminate: false });
  });
});
