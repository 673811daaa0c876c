import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { InvalidArgumentError, LockLostError, TimeoutError } from '../../src/errors.ts';
import type { SemaphoreOptions } from '../../src/locks/semaphore.ts';
import { scenario } from '../support/scenario.ts';

const of = (client: Client, permits = 3) => client.semaphore('s', { permits });

describe('a semaphore', () => {
  it('lets in as many as it has permits, under tokens of their own', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const first = await world.settled(of(client).acquire());
    const second = await world.settled(of(other).acquire({ permits: 2 }));
    expect([first.permits, second.permits, first.mode, first.lock]).toEqual([1, 2, 'shared', 's']);
    expect(second.token).toBeGreaterThan(first.token);
    const attempt = await world.settled(of(client).tryAcquire());
    expect(attempt).toMatchObject({ acquired: false, reason: 'held', holder: { token: first.token } });
    await world.settled(second.release());
    const third = await world.settled(of(client).tryAcquire({ permits: 2 }));
    expect(third).toMatchObject({ acquired: true, held: { permits: 2 } });
    expect(ensemble.queue('s')).toHaveLength(2);
    expect([of(client).name, of(client).permits]).toEqual(['s', 3]);
  });

  it('lets nobody who asks for few pass one who waits for many', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = [await world.settled(of(client).acquire()), await world.settled(of(client).acquire())];
    const many = of(client).acquire({ permits: 3 });
    await world.until(() => ensemble.queue('s').length === 3);
    expect(await world.settled(of(client).tryAcquire())).toMatchObject({ acquired: false, reason: 'held' });
    const few = of(client).acquire();
    await world.until(() => ensemble.queue('s').length === 4);
    for (const each of held) await world.settled(each.release());
    const all = await world.settled(many);
    expect(client.status()).toMatchObject({ holds: 1, waits: 1 });
    await world.settled(all.release());
    expect((await world.settled(few)).token).toBeGreaterThan(all.token);
  });

  it('gives those who are granted by one entry the same token', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const all = await world.settled(of(client).acquire({ permits: 3 }));
    const waiting = [of(client).acquire(), of(client).acquire({ permits: 2 })];
    await world.until(() => ensemble.queue('s').length === 3);
    await world.settled(all.release());
    const [one, two] = await world.settled(Promise.all(waiting));
    expect(one?.token).toBe(two?.token);
    expect(one?.acquireIndex).not.toBe(two?.acquireIndex);
  });

  it('runs bodies under its permits, and takes them back', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const permits = await world.settled(of(client).withLock((held) => held.permits, { permits: 2, waitMs: 100 }));
    expect(permits).toBe(2);
    const own = new Error('the body failed');
    expect(await world.rejection(of(client).withLock(() => Promise.reject(own)))).toBe(own);
    expect(ensemble.queue('s')).toEqual([]);
  });

  it('says of a wait that has taken too long who has permits and how many are before', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(of(client).acquire({ permits: 3 }));
    const earlier = of(client).acquire();
    await world.until(() => ensemble.queue('s').length === 2);
    const told: number[] = [];
    const options = { waitMs: 1_500, permits: 2, onWait: ({ before }: { before: number }) => told.push(before) };
    const error = (await world.rejection(of(client).acquire(options))) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.message).toContain('lock "s": not granted within 1500 ms');
    expect(error.wait).toMatchObject({ before: 1, holders: [{ token: held.token }] });
    expect(told[0]).toBe(1);
    await world.until(() => ensemble.queue('s').length === 2);
    await world.settled(held.release());
    await world.settled(earlier);
  });

  it('is left by a wait that its signal ends, and loses what a session had', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const held = await world.settled(of(client).acquire({ permits: 3 }));
    const aborter = new AbortController();
    const waiting = of(other).tryAcquire({ waitMs: 60_000, signal: aborter.signal });
    await world.until(() => ensemble.queue('s').length === 2);
    aborter.abort();
    expect(await world.settled(waiting)).toMatchObject({ acquired: false, reason: 'cancelled' });
    await world.until(() => ensemble.queue('s').length === 1);
    const next = of(other).acquire({ permits: 2 });
    await world.until(() => ensemble.queue('s').length === 2);
    ensemble.endSession(client.sessionId, 'expired');
    expect((await world.settled(next)).permits).toBe(2);
    expect(await world.rejection(held.release())).toBeInstanceOf(LockLostError);
  });

  it('is refused where others use it with another number of permits', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    await world.settled(of(client).acquire());
    const error = await world.rejection(of(client, 4).acquire());
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain('in use as a semaphore of 3 permits, not 4');
  });

  it('is refused by an ensemble that does not know it yet', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.onlyMutexes = true;
    const error = await world.rejection(of(client).acquire());
    expect(error).toMatchObject({ code: 'UNSUPPORTED' });
    expect((error as Error).message).toContain('this ensemble has no semaphores yet');
  });

  it.each([0, -1, 1.5, Number.NaN, 1_000_001, '3', undefined])('has no %s permits', async (permits) => {
    const client = await (await scenario()).connect();
    expect(() => client.semaphore('s', { permits: permits as number })).toThrow(
      `semaphore was given ${String(permits)} permits; it takes a whole number from 1 to 1000000`,
    );
  });

  it('refuses what it cannot be asked for, before anything is sent', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    expect(() => client.semaphore('', { permits: 3 })).toThrow(InvalidArgumentError);
    expect(() => client.semaphore('s', undefined as unknown as SemaphoreOptions)).toThrow(/semaphore takes an object/);
    for (const permits of [0, 4, 0.5, '1' as unknown as number]) {
      for (const call of [
        () => of(client).acquire({ permits }),
        () => of(client).tryAcquire({ permits }),
        () => of(client).withLock(() => undefined, { permits }),
        async () => of(client).lock({ permits }),
      ]) {
        const error = await world.rejection(call());
        expect(error).toBeInstanceOf(InvalidArgumentError);
        expect((error as Error).message).toBe(
          `${permits} permits of semaphore "s" were asked for, which has 3; ask for a whole number from 1 to 3`,
        );
      }
    }
    expect(await world.rejection(of(client).acquire({ waitMs: -1 }))).toBeInstanceOf(InvalidArgumentError);
    expect(ensemble.requests()).toEqual([]);
  });
});
