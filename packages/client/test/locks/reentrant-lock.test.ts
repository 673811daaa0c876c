import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { AcquireLimitError, InvalidArgumentError, LockLostError, TimeoutError } from '../../src/errors.ts';
import type { HeldLock } from '../../src/locks/held-lock.ts';
import type { LockWait } from '../../src/locks/waits/lock-wait.ts';
import type { ReentrantLock, ReentrantLockOptions } from '../../src/locks/reentrant-lock.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

type Reentrant = Scenario & { readonly client: Client; readonly lock: ReentrantLock };

async function reentrant(options: { readonly limit?: number } = {}): Promise<Reentrant> {
  const all = await scenario();
  const client = await all.connect();
  return { ...all, client, lock: client.lock('a', { reentrant: true, ...options }) };
}

/** The same, and somebody else who holds the lock. */
async function contended(
  options: { readonly limit?: number } = {},
): Promise<Reentrant & { readonly other: Client; readonly hold: HeldLock }> {
  const all = await reentrant(options);
  const other = await all.connect();
  const hold = await all.world.settled(other.lock('a').acquire());
  return { ...all, other, hold };
}

function commands({ ensemble }: Scenario): string[] {
  return ensemble.requests().map(({ command }) => command);
}

describe('a reentrant lock', () => {
  it('is entered again without a message, under the same token, and given back with the last entry', async () => {
    const all = await reentrant();
    const { world, ensemble, lock } = all;
    const first = await world.settled(lock.acquire());
    const second = await world.settled(lock.acquire({ waitMs: 0 }));
    const third = await world.settled(lock.tryAcquire());
    if (!third.acquired) throw new Error('it was not let in');
    expect([lock.name, lock.limit, lock.holdCount]).toEqual(['a', Number.POSITIVE_INFINITY, 3]);
    expect([second.token, third.held.token]).toEqual([first.token, first.token]);
    expect(second.acquireIndex).toBe(first.acquireIndex);
    expect(second.remainingMs()).toBeGreaterThan(9_000);
    await world.settled(second.verify());
    await world.settled(first.release());
    expect([lock.holdCount, first.signal.aborted, second.signal.aborted]).toEqual([2, true, false]);
    await world.settled(third.held.release());
    second.assertHeld();
    expect(commands(all)).toEqual(['acquire']);
    await world.settled(second.release());
    expect(lock.holdCount).toBe(0);
    expect(ensemble.queue('a')).toEqual([]);
    expect(commands(all)).toEqual(['acquire', 'release']);
  });

  it('counts an entry once, however often it is released', async () => {
    const all = await reentrant();
    const { world, lock } = all;
    const [first, second] = [await world.settled(lock.acquire()), await world.settled(lock.acquire())];
    expect(first.release()).toBe(first.release());
    await world.settled(first[Symbol.asyncDispose]());
    expect(lock.holdCount).toBe(1);
    second.assertHeld();
    await world.settled(second[Symbol.asyncDispose]());
    expect(commands(all)).toEqual(['acquire', 'release']);
  });

  it('does not wait for itself in a body within its own body, and loses the outer entry to no inner error', async () => {
    const { world, ensemble, lock } = await reentrant();
    const own = new Error('of the inner body');
    const outer = lock.withLock(async (held) => {
      const inner = await lock.withLock(({ token }) => token);
      const error = await lock.withLock(() => Promise.reject(own)).catch((caught: unknown) => caught);
      held.assertHeld();
      return [inner === held.token, error === own, lock.holdCount];
    });
    expect(await world.settled(outer)).toEqual([true, true, 1]);
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('excludes other objects of the same name, of the same client, too', async () => {
    const { world, client, lock } = await reentrant();
    const held = await world.settled(lock.acquire());
    const other = client.lock('a', { reentrant: true });
    expect(await world.settled(other.tryAcquire())).toMatchObject({
      acquired: false,
      reason: 'held',
      holder: { token: held.token },
    });
    expect([lock.holdCount, other.holdCount]).toEqual([1, 0]);
    const waiting = other.acquire();
    await world.settled(held.release());
    expect((await world.settled(waiting)).token).toBeGreaterThan(held.token);
  });

  it('asks anew when it has been given back', async () => {
    const { world, lock } = await reentrant();
    const first = await world.settled(lock.acquire());
    const released = first.release();
    const second = await world.settled(lock.acquire());
    await world.settled(released);
    expect(second.token).toBeGreaterThan(first.token);
    second.assertHeld();
  });

  it('does not ask when the signal has aborted before', async () => {
    const all = await reentrant();
    const { world, lock } = all;
    const reason = new Error('no longer needed');
    expect(await world.rejection(lock.acquire({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    const held = await world.settled(lock.acquire());
    const attempt = await world.settled(lock.tryAcquire({ signal: AbortSignal.abort(reason) }));
    expect(attempt).toEqual({ acquired: false, reason: 'cancelled', holder: undefined });
    expect(lock.holdCount).toBe(1);
    await world.settled(held.release());
    expect(commands(all)).toEqual(['acquire', 'release']);
  });
});

describe('an entry of a reentrant lock', () => {
  it('is held as a plain lock is, and cannot be downgraded', async () => {
    const { world, lock } = await reentrant();
    const entry = await world.settled(lock.acquire());
    expect([entry.lock, entry.locks, entry.mode, entry.permits]).toEqual(['a', ['a'], 'exclusive', undefined]);
    expect(await world.rejection(entry.downgrade())).toBeInstanceOf(InvalidArgumentError);
  });
});

describe('acquires that come while a reentrant lock is waited for', () => {
  it('wait with the first, and enter in the order in which they came, by one grant', async () => {
    const all = await contended();
    const { world, ensemble, lock, hold, client } = all;
    const order: number[] = [];
    const entries = Array.from({ length: 4 }, async (_, at) => {
      const entry = await lock.acquire();
      order.push(at);
      return entry;
    });
    await world.until(() => client.status().waits === 1);
    expect(ensemble.queue('a')).toHaveLength(2);
    const late = lock.acquire();
    await world.settled(hold.release());
    const held = await world.settled(Promise.all([...entries, late]));
    expect(order).toEqual([0, 1, 2, 3]);
    expect(new Set(held.map(({ token }) => token)).size).toBe(1);
    expect(lock.holdCount).toBe(5);
    for (const each of held) await world.settled(each.release());
    expect(ensemble.queue('a')).toEqual([]);
    expect(commands(all).filter((command) => command === 'acquire')).toHaveLength(2);
  });

  it('give up one by one, by limit and signal of their own; the last one ends the wait', async () => {
    const { world, ensemble, lock, hold, other, client } = await contended();
    const aborter = new AbortController();
    const reason = new Error('no longer needed');
    const [limited, aborted, longest] = [
      world.rejection(lock.acquire({ waitMs: 1_000 })),
      world.rejection(lock.acquire({ signal: aborter.signal })),
      world.settled(lock.tryAcquire({ waitMs: 3_000 })),
    ];
    await world.until(() => ensemble.queue('a').length === 2);
    const error = (await limited) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.message).toContain('lock "a": not granted within 1000 ms');
    expect(error.message).toContain(`held by session ${other.sessionId} under token ${hold.token}`);
    expect(error.wait).toMatchObject({ lock: 'a', before: 0 });
    expect(error.wait?.waitedMs).toBeGreaterThan(900);
    aborter.abort(reason);
    expect(await aborted).toBe(reason);
    expect(ensemble.queue('a')).toHaveLength(2);
    expect(await longest).toMatchObject({ acquired: false, reason: 'timeout', holder: { token: hold.token } });
    await world.until(() => ensemble.queue('a').length === 1);
    expect(client.status().waits).toBe(0);
    // Whoever comes now waits anew.
    const next = lock.acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    await world.settled(hold.release());
    expect((await world.settled(next)).token).toBeGreaterThan(hold.token);
  });

  it('are told each for itself what they wait for, as long as they do', async () => {
    const { world, ensemble, lock, hold, other } = await contended();
    const told: LockWait[][] = [[], []];
    const first = lock.acquire({ onWait: (wait) => told[0]?.push(wait) });
    await world.until(() => told[0]?.length === 1);
    await world.sleep(5_000);
    const second = lock.tryAcquire({ waitMs: 2_500, onWait: (wait) => told[1]?.push(wait) });
    await world.settled(second);
    await world.sleep(3_000);
    expect(told[1]).toHaveLength(3);
    expect(told[1]?.[0]).toMatchObject({ lock: 'a', before: 0, holders: [{ session: other.sessionId }] });
    expect(told[1]?.map(({ waitedMs }) => Math.round(waitedMs / 1_000))).toEqual([0, 1, 2]);
    expect(told[0]?.length).toBeGreaterThan(9);
    expect(ensemble.queue('a')).toHaveLength(2);
    await world.settled(hold.release());
    await world.settled(first);
  });

  it('leave no listener on their signals and no timer, however they end', async () => {
    const { world, host, lock, hold, client, other } = await contended();
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...parameters: Parameters<typeof add>) => {
      listeners += 1;
      add(...parameters);
    };
    signal.removeEventListener = (...parameters: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...parameters);
    };
    await world.rejection(lock.acquire({ waitMs: 100, signal }));
    expect(listeners).toBe(0);
    const granted = [lock.acquire({ signal }), lock.acquire({ signal, waitMs: 60_000 })];
    await world.sleep(100);
    expect(listeners).toBe(1);
    await world.settled(hold.release());
    await world.settled(Promise.all(granted));
    expect(listeners).toBe(0);
    await world.settled(Promise.all([client.close(), other.close()]));
    await world.sleep(5_000);
    expect(host.timers).toBe(0);
  });

  it('give back a grant that was faster than the last one who gave up', async () => {
    const { world, ensemble, lock, hold, client } = await contended();
    let stopped = true;
    ensemble.server(1).hook = (message) => (stopped && isCommand(message, 'cancel') ? 'ignore' : 'handle');
    expect(await world.rejection(lock.acquire({ waitMs: 500 }))).toBeInstanceOf(TimeoutError);
    await world.settled(hold.release());
    expect(ensemble.queue('a')[0]).toMatchObject({ session: client.sessionId });
    stopped = false;
    ensemble.server(1).disconnectAll();
    await world.until(() => ensemble.queue('a').length === 0);
    expect([lock.holdCount, client.status().holds]).toEqual([0, 0]);
  });

  it('fail together: when an operator ends the wait, when the session ends, when the client is closed', async () => {
    const ends: readonly (readonly [(all: Awaited<ReturnType<typeof contended>>) => void, object])[] = [
      [({ ensemble }) => ensemble.revoke(ensemble.queue('a')[1]?.acquireIndex ?? 0), { code: 'LOCK_LOST' }],
      [({ ensemble, client }) => ensemble.endSession(client.sessionId, 'expired'), { code: 'SESSION_EXPIRED' }],
      [({ client }) => void client.close(), { code: 'CLIENT_CLOSED' }],
    ];
    for (const [end, expected] of ends) {
      const all = await contended();
      const { world, ensemble, lock } = all;
      const failed = [world.rejection(lock.acquire()), world.rejection(lock.tryAcquire({ waitMs: 60_000 }))];
      await world.until(() => ensemble.queue('a').length === 2);
      end(all);
      expect(await Promise.all(failed)).toMatchObject([expected, expected]);
      expect(lock.holdCount).toBe(0);
    }
  });

  it('wait on in the next session of a resilient client', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect({ resilient: true }), await connect()];
    const lock = client.lock('a', { reentrant: true });
    const hold = await world.settled(other.lock('a').acquire());
    const told: LockWait[] = [];
    const waiting = [lock.acquire({ onWait: (wait) => told.push(wait) }), lock.tryAcquire({ waitMs: 3_000 })] as const;
    await world.until(() => ensemble.queue('a').length === 2);
    ensemble.endSession(client.sessionId, 'expired');
    await world.until(() => client.state === 'connected' && ensemble.queue('a').length === 2);
    const before = told.length;
    await world.until(() => told.length > before);
    expect(await world.settled(waiting[1])).toMatchObject({ reason: 'timeout', holder: { token: hold.token } });
    await world.settled(hold.release());
    expect((await world.settled(waiting[0])).token).toBeGreaterThan(hold.token);
  });
});

describe('a try of a reentrant lock that does not wait', () => {
  it('is refused while others of the same object wait, and enters once they have it', async () => {
    const { world, ensemble, lock, hold } = await contended();
    const waiting = lock.acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    expect(await world.settled(lock.tryAcquire())).toMatchObject({ reason: 'held', holder: { token: hold.token } });
    expect(await world.rejection(lock.acquire({ waitMs: 0 }))).toBeInstanceOf(TimeoutError);
    await world.settled(hold.release());
    await world.settled(waiting);
    expect(await world.settled(lock.tryAcquire())).toMatchObject({ acquired: true });
  });

  it('lets in everybody who came while it was under way', async () => {
    const all = await reentrant();
    const { world, ensemble, lock } = all;
    const [first, second, waiting] = [lock.tryAcquire(), lock.tryAcquire(), lock.acquire()];
    const attempts = await world.settled(Promise.all([first, second]));
    expect(attempts.map(({ acquired }) => acquired)).toEqual([true, true]);
    const held = await world.settled(waiting);
    expect(lock.holdCount).toBe(3);
    // What the last one asked for is given up.
    await world.until(() => ensemble.queue('a').length === 1);
    await world.settled(held.release());
    for (const attempt of attempts) if (attempt.acquired) await world.settled(attempt.held.release());
    await world.until(() => ensemble.queue('a').length === 0);
    expect(lock.holdCount).toBe(0);
  });
});

describe('the limit of a reentrant lock', () => {
  it('refuses one entry more: with AcquireLimitError, or as a result', async () => {
    const all = await reentrant({ limit: 2 });
    const { world, lock } = all;
    const held = [await world.settled(lock.acquire()), await world.settled(lock.acquire())];
    const error = await world.rejection(lock.acquire());
    expect(error).toBeInstanceOf(AcquireLimitError);
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', indeterminate: false });
    expect((error as Error).message).toContain('lock "a" has been entered 2 times by its owner');
    expect(await world.rejection(lock.withLock(() => undefined))).toBeInstanceOf(AcquireLimitError);
    expect(await world.settled(lock.tryAcquire())).toEqual({ acquired: false, reason: 'limit', holder: undefined });
    await world.settled(held[0]?.release() ?? Promise.resolve());
    await world.settled(lock.acquire());
    expect([lock.limit, lock.holdCount]).toEqual([2, 2]);
  });

  it('counts those who wait, until they give up', async () => {
    const { world, ensemble, lock, hold } = await contended({ limit: 1 });
    const waiting = world.rejection(lock.acquire({ waitMs: 300 }));
    await world.until(() => ensemble.queue('a').length === 2);
    expect(await world.settled(lock.tryAcquire({ waitMs: 1_000 }))).toMatchObject({ reason: 'limit' });
    await waiting;
    const next = lock.acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    await world.settled(hold.release());
    await world.settled(next);
    expect(await world.settled(lock.tryAcquire())).toMatchObject({ reason: 'limit' });
    expect(lock.holdCount).toBe(1);
  });

  it('is a whole number from 1, and of reentrant locks alone', async () => {
    const { client } = await reentrant();
    for (const limit of [0, -1, 1.5, Number.NaN, '2'])
      expect(() => client.lock('a', { reentrant: true, limit: limit as number })).toThrow(
        `limit is ${limit}; it must be a whole number from 1, or left out`,
      );
    const wrong = (options: object) => () => client.lock('a', options as ReentrantLockOptions);
    expect(wrong({ limit: 2 })).toThrow('say reentrant: true as well');
    expect(wrong({ reentrant: false, limit: 2 })).toThrow('say reentrant: true as well');
    expect(wrong({ reentrant: 1 })).toThrow('reentrant is 1; it must be true or false');
    expect(wrong({ reentrance: true })).toThrow('lock has no option "reentrance"; did you mean reentrant?');
    expect(() => client.lock('', { reentrant: true })).toThrow(InvalidArgumentError);
    expect(client.lock('a', { reentrant: false })).not.toHaveProperty('holdCount');
  });
});

describe('a reentrant lock that is lost', () => {
  it('is lost by every entry, and is acquired anew only when each has been released', async () => {
    const all = await reentrant();
    const { world, ensemble, lock } = all;
    const held = [await world.settled(lock.acquire()), await world.settled(lock.acquire())] as const;
    const { signal } = held[0];
    ensemble.revoke(held[0].acquireIndex);
    await world.until(() => signal.aborted);
    expect(held.map(({ loss }) => loss?.reason)).toEqual(['revoked', 'revoked']);
    expect(lock.holdCount).toBe(0);
    const error = await world.rejection(lock.acquire());
    expect(error).toBeInstanceOf(LockLostError);
    expect((error as Error).message).toContain('release the 2 entries of that hold, and acquire it anew');
    expect(await world.rejection(lock.tryAcquire())).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(await world.rejection(held[0].release())).toBeInstanceOf(LockLostError);
    expect(((await world.rejection(lock.acquire())) as Error).message).toContain('release the entry of that hold');
    await world.settled(held[1][Symbol.asyncDispose]());
    await world.settled(held[1][Symbol.asyncDispose]());
    const again = await world.settled(lock.acquire());
    expect(again.token).toBeGreaterThan(held[0].token);
    expect(commands(all)).toEqual(['acquire', 'acquire']);
  });

  it('ends bodies within bodies with the loss, and is free for a new one after that', async () => {
    const { world, ensemble, lock } = await reentrant();
    const seen: unknown[] = [];
    const outer = lock.withLock(async () => {
      const inner = lock.withLock(async (held) => {
        ensemble.revoke(held.acquireIndex);
        await new Promise<void>((resolve) => world.schedule(100, resolve));
      });
      seen.push(await inner.catch((error: unknown) => error));
      seen.push(await lock.acquire().catch((error: unknown) => error));
    });
    seen.push(await world.rejection(outer));
    expect(seen).toMatchObject([{ reason: 'revoked' }, { reason: 'revoked' }, { reason: 'revoked' }]);
    expect(seen.every((error) => error instanceof LockLostError)).toBe(true);
    expect(await world.settled(lock.withLock(({ token }) => token))).toBeGreaterThan(0);
  });

  it('is found so by the lease, even when timers are late, by whichever entry or acquire asks first', async () => {
    const { world, ensemble, host, lock } = await reentrant();
    const [entry, other] = [await world.settled(lock.acquire()), await world.settled(lock.acquire())];
    for (const server of ensemble.servers) server.host.paused = true;
    host.block(11_000);
    expect(() => other.assertHeld()).toThrow(LockLostError);
    expect([entry.loss?.reason, entry.remainingMs(), lock.holdCount]).toEqual(['expired', 0, 0]);

    const fresh = await reentrant();
    await fresh.world.settled(fresh.lock.acquire());
    for (const server of fresh.ensemble.servers) server.host.paused = true;
    fresh.host.block(11_000);
    await expect(fresh.lock.tryAcquire()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('is found so by verify of any entry', async () => {
    const { world, ensemble, client, lock } = await reentrant();
    const [entry, other] = [await world.settled(lock.acquire()), await world.settled(lock.acquire())];
    ensemble.session(client.sessionId).send = undefined;
    ensemble.revoke(entry.acquireIndex);
    expect(await world.rejection(other.verify())).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(entry.signal.aborted).toBe(true);
  });

  it('is found so by the release of the last entry alone', async () => {
    const { world, ensemble, lock } = await reentrant();
    const [first, last] = [await world.settled(lock.acquire()), await world.settled(lock.acquire())];
    ensemble.revoke(first.acquireIndex);
    await first.release();
    expect(await world.rejection(last.release())).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect((await world.settled(lock.acquire())).token).toBeGreaterThan(first.token);
  });
});

describe('the watch of a reentrant lock', () => {
  it('shows one hold, however often it is entered', async () => {
    const { world, ensemble, lock } = await reentrant();
    ensemble.showsQueues = true;
    const events: string[] = [];
    const loop = (async () => {
      for await (const { type, holders } of lock.watch()) {
        events.push(`${type} ${holders.length}`);
        if (type === 'released') return;
      }
    })();
    await world.until(() => events.length === 1);
    await world.settled(lock.withLock(() => lock.withLock(() => undefined)));
    await world.settled(loop);
    expect(events).toEqual(['state 0', 'granted 1', 'released 0']);
  });
});
