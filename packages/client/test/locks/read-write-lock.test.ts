import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { InvalidArgumentError, LockLostError, TimeoutError } from '../../src/errors.ts';
import type { HeldLock } from '../../src/locks/held-lock.ts';
import type { LockEvent } from '../../src/locks/lock-watch.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

type Held = Scenario & { readonly hold: HeldLock; readonly clients: readonly [Client, Client, Client] };

/** Three clients, and a lock that the first one holds, to read or to write. */
async function held(how: 'read' | 'write'): Promise<Held> {
  const all = await scenario();
  const clients = [await all.connect(), await all.connect(), await all.connect()] as const;
  const hold = await all.world.settled(clients[0].readWriteLock('a')[how]().acquire());
  return { ...all, hold, clients };
}

function downgrades({ ensemble }: Scenario): number {
  return ensemble.requests().filter(({ command }) => command === 'downgrade').length;
}

describe('a read-write lock', () => {
  it('is held by all who read, and by one alone who writes', async () => {
    const { world, ensemble, hold, clients } = await held('read');
    const other = await world.settled(clients[1].readWriteLock('a').read().acquire());
    expect([hold.mode, other.mode, other.lock, other.locks, other.permits]).toEqual([
      'read',
      'read',
      'a',
      ['a'],
      undefined,
    ]);
    const writing = clients[2].readWriteLock('a').write().acquire();
    await world.until(() => ensemble.queue('a').length === 3);
    await world.settled(hold.release());
    await world.sleep(100);
    expect(clients[2].status()).toMatchObject({ holds: 0, waits: 1 });
    await world.settled(other.release());
    const written = await world.settled(writing);
    expect(written.mode).toBe('write');
    expect(written.token).toBeGreaterThan(other.token);
    const attempt = await world.settled(clients[0].readWriteLock('a').read().tryAcquire());
    expect(attempt).toMatchObject({ acquired: false, reason: 'held', holder: { token: written.token } });
  });

  it('lets nobody who reads pass one who waits to write', async () => {
    const { world, ensemble, hold, clients } = await held('read');
    const writing = clients[1].readWriteLock('a').write().acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    const attempt = await world.settled(clients[2].readWriteLock('a').read().tryAcquire());
    expect(attempt).toMatchObject({ acquired: false, reason: 'held' });
    const reading = clients[2].readWriteLock('a').read().acquire();
    await world.until(() => ensemble.queue('a').length === 3);
    await world.settled(hold.release());
    const written = await world.settled(writing);
    expect(clients[2].status()).toMatchObject({ holds: 0, waits: 1 });
    await world.settled(written.release());
    expect((await world.settled(reading)).token).toBeGreaterThan(written.token);
  });

  it('gives those who are granted it by one entry the same token', async () => {
    const { world, ensemble, hold, clients } = await held('write');
    const reading = [clients[1], clients[2]].map((client) => client.readWriteLock('a').read().acquire());
    await world.until(() => ensemble.queue('a').length === 3);
    await world.settled(hold.release());
    const [one, other] = await world.settled(Promise.all(reading));
    expect(one?.token).toBe(other?.token);
    expect(one?.token).toBeGreaterThan(hold.token);
    expect(one?.acquireIndex).not.toBe(other?.acquireIndex);
  });

  it('runs bodies under either side', async () => {
    const { world, connect } = await scenario();
    const lock = (await connect()).readWriteLock('a');
    const modes = await world.settled(
      lock.read().withLock((read) => lock.read().withLock((again) => [read.mode, again.mode])),
    );
    expect(modes).toEqual(['read', 'read']);
    expect(await world.settled(lock.write().withLock(({ mode }) => mode))).toBe('write');
    expect(lock.name).toBe('a');
  });

  it('lets those who read in when the one who waits to write gives up: by its limit, its signal, or an operator', async () => {
    const { world, ensemble, hold, clients } = await held('read');
    const aborter = new AbortController();
    const reason = new Error('no longer needed');
    const giveUps = [
      { start: () => clients[1].readWriteLock('a').write().acquire({ waitMs: 500 }), end: () => undefined },
      {
        start: () => clients[1].readWriteLock('a').write().acquire({ signal: aborter.signal }),
        end: () => aborter.abort(reason),
      },
      {
        start: () => clients[1].readWriteLock('a').write().acquire(),
        end: () => ensemble.revoke(ensemble.queue('a').find(({ token }) => token === 0)?.acquireIndex ?? 0),
      },
    ];
    const errors: unknown[] = [];
    for (const { start, end } of giveUps) {
      const before = ensemble.queue('a').length;
      const writing = world.rejection(start());
      await world.until(() => ensemble.queue('a').length === before + 1);
      const reading = clients[2].readWriteLock('a').read().acquire();
      await world.until(() => ensemble.queue('a').length === before + 2);
      end();
      errors.push(await writing);
      expect((await world.settled(reading)).mode).toBe('read');
    }
    expect(errors[0]).toBeInstanceOf(TimeoutError);
    expect(errors[1]).toBe(reason);
    expect(errors[2]).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', lock: 'a' });
    expect(hold.loss).toBeUndefined();
  });

  it('is lost with its session, by all who read in it', async () => {
    const { world, ensemble, hold, clients } = await held('read');
    const again = await world.settled(clients[0].readWriteLock('a').read().acquire());
    const other = await world.settled(clients[1].readWriteLock('a').read().acquire());
    ensemble.endSession(clients[0].sessionId, 'expired');
    await world.until(() => hold.signal.aborted && again.signal.aborted);
    expect([hold.loss?.reason, again.loss?.reason, other.loss]).toEqual(['expired', 'expired', undefined]);
  });

  it('is refused where the name is in use as another kind of lock, with what the ensemble says', async () => {
    const { world, clients } = await held('read');
    const error = await world.rejection(clients[1].lock('a').acquire());
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toBe('acquire "a": lock a is in use with another kind; use one kind for a lock');
  });

  it('is refused by an ensemble that does not know it yet, with what to do', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.onlyMutexes = true;
    const error = await world.rejection(client.readWriteLock('a').read().tryAcquire());
    expect(error).toMatchObject({ code: 'UNSUPPORTED', retryable: false, indeterminate: false });
    const text = 'acquire "a": this ensemble has no read-write locks yet; upgrade all servers';
    expect((error as Error).message).toContain(text);
    expect((await world.settled(client.lock('a').acquire())).mode).toBe('exclusive');
  });

  it('has names as other locks have', async () => {
    const client = await (await scenario()).connect();
    expect(() => client.readWriteLock('')).toThrow(InvalidArgumentError);
  });
});

describe('a wait for a read-write lock', () => {
  it('to read counts those before up to the last one who is to write: the others are granted with it', async () => {
    const { world, ensemble, hold, clients } = await held('read');
    const [mine, others] = [clients[2].readWriteLock('a'), clients[1].readWriteLock('a')];
    const writing = others.write().acquire();
    const reading = [others.read().acquire(), others.read().acquire()];
    await world.until(() => ensemble.queue('a').length === 4);
    const read = (await world.rejection(mine.read().acquire({ waitMs: 600 }))) as TimeoutError;
    expect(read.wait).toMatchObject({ lock: 'a', locks: ['a'], before: 1, truncated: false });
    expect(read.wait?.holders).toMatchObject([{ token: hold.token }]);
    expect(read.message).toContain('1 other is before this acquire');
    const write = (await world.rejection(mine.write().acquire({ waitMs: 600 }))) as TimeoutError;
    expect(write.wait).toMatchObject({ before: 3 });
    await world.settled(hold.release());
    await world.settled((await world.settled(writing)).release());
    expect(await world.settled(Promise.all(reading))).toHaveLength(2);
  });

  it('is next when only others who read are before it', async () => {
    const { world, ensemble, hold, clients } = await held('write');
    const first = clients[1].readWriteLock('a').read().acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    const told: number[] = [];
    const reading = clients[2]
      .readWriteLock('a')
      .read()
      .acquire({ onWait: ({ before }) => told.push(before) });
    await world.until(() => told.length === 1);
    expect(told).toEqual([0]);
    await world.settled(hold.release());
    await world.settled(Promise.all([first, reading]));
  });

  it('names three of many who read, and says how many more there are', async () => {
    const { world, ensemble, hold, clients } = await held('read');
    const others = Array.from({ length: 5 }, () => clients[1].readWriteLock('a').read().acquire());
    await world.settled(Promise.all(others));
    const writing = clients[2].readWriteLock('a').write().acquire({ waitMs: 100 });
    const { wait, message } = (await world.rejection(writing)) as TimeoutError;
    expect(wait?.holders).toHaveLength(6);
    expect(message).toMatch(/held by session \d+ under token \d+ since [^,]+(, session [^,]+){2} and 3 more;/);
    expect(ensemble.queue('a').filter(({ token }) => token !== 0)).toHaveLength(6);
    expect(hold.loss).toBeUndefined();
  });
});

describe('a hold to write that is downgraded', () => {
  it('goes on reading under its token, beside those who waited to read', async () => {
    const all = await held('write');
    const { world, ensemble, hold, clients } = all;
    const reading = clients[1].readWriteLock('a').read().acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    const { token } = hold;
    const downgraded = hold.downgrade();
    // Before the ensemble hears of it.
    expect(hold.mode).toBe('read');
    await world.settled(downgraded);
    expect((await world.settled(reading)).mode).toBe('read');
    hold.assertHeld();
    await world.settled(hold.verify());
    expect(hold.token).toBe(token);
    const attempt = await world.settled(clients[2].readWriteLock('a').write().tryAcquire());
    expect(attempt.acquired).toBe(false);
    await world.settled(hold.release());
    expect(downgrades(all)).toBe(1);
  });

  it('is so with one request, however often it is asked for', async () => {
    const all = await held('write');
    const { world, hold } = all;
    await world.settled(Promise.all([hold.downgrade(), hold.downgrade()]));
    await world.settled(hold.downgrade());
    expect(downgrades(all)).toBe(1);
    expect(hold.mode).toBe('read');
  });

  it('is not so when its signal has aborted before, and is all the same when it aborts later', async () => {
    const all = await held('write');
    const { world, ensemble, hold } = all;
    const reason = new Error('no longer needed');
    expect(await world.rejection(hold.downgrade({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect([hold.mode, downgrades(all)]).toEqual(['write', 0]);
    const aborter = new AbortController();
    ensemble.server(1).host.paused = true;
    const given = world.rejection(hold.downgrade({ signal: aborter.signal }));
    await world.sleep(10);
    aborter.abort(reason);
    expect(await given).toBe(reason);
    expect(hold.mode).toBe('read');
    ensemble.server(1).host.paused = false;
    await world.until(() => downgrades(all) === 1);
    await world.settled(hold.verify());
  });

  it('is so in the background when that is not confirmed in time', async () => {
    const all = await held('write');
    const { world, ensemble, hold, clients } = all;
    ensemble.server(1).hook = (message) => (isCommand(message, 'downgrade') ? 'apply' : 'handle');
    const error = await world.rejection(hold.downgrade({ timeoutMs: 200 }));
    expect(error).toMatchObject({ code: 'TIMEOUT', indeterminate: true });
    expect((error as Error).message).toContain('downgrade "a": no answer in time');
    expect(hold.mode).toBe('read');
    expect((await world.settled(clients[1].readWriteLock('a').read().acquire())).mode).toBe('read');
    expect(hold.loss).toBeUndefined();
  });

  it('holds to write as before when the ensemble refuses it, and may try again', async () => {
    const { world, ensemble, hold } = await held('write');
    const [part] = ensemble.queue('a')[0]?.parts ?? [];
    if (part === undefined) throw new Error('nobody holds it');
    part.asked = { type: 'readWrite', write: false };
    expect(await world.rejection(hold.downgrade())).toBeInstanceOf(InvalidArgumentError);
    expect(hold.mode).toBe('write');
    part.asked = { type: 'readWrite', write: true };
    await world.settled(hold.downgrade());
    expect(hold.mode).toBe('read');
  });

  it('is lost where the ensemble does not know it any more, before the news of that has come', async () => {
    const { world, ensemble, hold, clients } = await held('write');
    ensemble.session(clients[0].sessionId).send = undefined;
    ensemble.revoke(hold.acquireIndex);
    expect(await world.rejection(hold.downgrade())).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(hold.signal.aborted).toBe(true);
  });

  it('is lost with its session, or its client, while that is under way', async () => {
    const ends: readonly (readonly [(all: Held) => void, string])[] = [
      [({ ensemble, clients }) => ensemble.endSession(clients[0].sessionId, 'expired'), 'expired'],
      [({ clients }) => void clients[0].close(), 'closed'],
    ];
    for (const [end, reason] of ends) {
      const all = await held('write');
      all.ensemble.server(1).hook = (message) => (isCommand(message, 'downgrade') ? 'ignore' : 'handle');
      const downgraded = all.world.rejection(all.hold.downgrade());
      await all.world.until(() => downgrades(all) === 1);
      end(all);
      expect(await downgraded).toMatchObject({ code: 'LOCK_LOST', reason });
    }
  });

  it('is refused before anything is sent: to read already, not a read-write lock, several at once, or over', async () => {
    const all = await held('read');
    const { world, hold, clients } = all;
    const client = clients[1];
    const plain = await world.settled(client.lock('p').acquire());
    const permits = await world.settled(client.semaphore('s', { permits: 1 }).acquire());
    const several = await world.settled(
      client.locks([client.readWriteLock('x').write(), client.readWriteLock('y').write()]).acquire(),
    );
    expect(several.mode).toBe('write');
    for (const [refused, text] of [
      [hold, 'lock "a" is held to read; only one that is held to write can be downgraded'],
      [plain, 'lock "p" is held as a plain lock; only one that is held to write can be downgraded'],
      [permits, 'lock "s" is held as a semaphore; only one that is held to write can be downgraded'],
      [several, 'locks "x", "y" are held at once; only one that is held to write can be downgraded'],
    ] as const) {
      const error = await world.rejection(refused.downgrade());
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toBe(text);
    }
    const written = await world.settled(client.readWriteLock('w').write().acquire());
    expect(await world.rejection(written.downgrade({ timeoutMs: -1 }))).toBeInstanceOf(InvalidArgumentError);
    expect(await world.rejection(written.downgrade({ waitMs: 5 } as object))).toBeInstanceOf(InvalidArgumentError);
    await world.settled(written.release());
    expect(await world.rejection(written.downgrade())).toBeInstanceOf(LockLostError);
    expect(written.mode).toBe('write');
    expect(downgrades(all)).toBe(0);
  });
});

describe('the watch of a read-write lock', () => {
  it('has all who read among the holders, and says of nobody that it waited who was granted at once', async () => {
    const { world, ensemble, connect } = await scenario();
    ensemble.showsQueues = true;
    const [client, other] = [await connect(), await connect()];
    const lock = client.readWriteLock('a');
    const first = await world.settled(other.readWriteLock('a').read().acquire());
    const events: string[] = [];
    const inWords = ({ type, holders, waiters, before }: LockEvent): string =>
      `${type} ${holders.length} ${waiters} ${before ?? '-'}`;
    const loop = (async () => {
      for await (const event of lock.watch()) {
        expect(event.lock).toBe('a');
        events.push(inWords(event));
        if (event.type === 'left') return;
      }
    })();
    await world.until(() => events.length === 1);
    const second = await world.settled(lock.read().acquire());
    await world.until(() => events.length === 2);
    const writing = world.rejection(other.readWriteLock('a').write().acquire({ waitMs: 500 }));
    await world.until(() => events.length === 3);
    await world.settled(first.release());
    await world.until(() => events.length === 4);
    await writing;
    await world.settled(loop);
    expect(events).toEqual(['state 1 0 -', 'granted 2 0 0', 'waiting 2 1 0', 'released 1 1 0', 'left 1 0 0']);
    expect(second.loss).toBeUndefined();
  });
});
