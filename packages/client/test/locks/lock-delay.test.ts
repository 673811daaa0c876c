import type { Command, LockDelay } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { HoldfastError, InvalidArgumentError, NotFoundError, TimeoutError } from '../../src/errors.ts';
import type { Lock } from '../../src/locks/lock.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

const DELAY: LockDelay = { index: 90, delayMs: 5_000, since: 1, token: 80 };

/** What was asked for last. */
function lastCommand({ ensemble }: Scenario): Command | undefined {
  return ensemble.applied.at(-1)?.command;
}

const delayed: readonly (readonly [string, (client: Client) => Pick<Lock, 'acquire'>, number])[] = [
  ['a lock', (client) => client.lock('a', { lockDelayMs: 5_000 }), 5_000],
  ['a reentrant lock', (client) => client.lock('a', { reentrant: true, lockDelayMs: 5_000 }), 5_000],
  ['the reading side of a lock', (client) => client.readWriteLock('a', { lockDelayMs: 1 }).read(), 1],
  ['the writing side of a lock', (client) => client.readWriteLock('a', { lockDelayMs: 60_000 }).write(), 60_000],
  ['a semaphore', (client) => client.semaphore('a', { permits: 3, lockDelayMs: 7 }), 7],
  ['several locks', (client) => client.locks(['a', 'b'], { lockDelayMs: 9 }), 9],
  [
    'several locks of which one has a delay',
    (client) => client.locks(['b', client.lock('a', { lockDelayMs: 4 }), client.readWriteLock('c').read()]),
    4,
  ],
  [
    'several locks whose options say another delay',
    (client) => client.locks([client.lock('a', { lockDelayMs: 4 }), 'b'], { lockDelayMs: 3 }),
    3,
  ],
];

describe('the delay of a lock', () => {
  it.each(delayed)('is asked for with each acquire of %s', async (_, of, lockDelayMs) => {
    const scene = await scenario();
    const client = await scene.connect();
    const held = await scene.world.settled(of(client).acquire());
    expect(lastCommand(scene)).toMatchObject({ type: 'acquireWith', wait: true, lockDelayMs, abortInDeadlock: false });
    await scene.world.settled(held.release());
  });

  it('is not asked for where there is none, so that older servers grant the lock', async () => {
    const scene = await scenario();
    const client = await scene.connect();
    const locks = [
      client.lock('a', { lockDelayMs: 0 }),
      client.locks([client.lock('b', { lockDelayMs: 4 })], { lockDelayMs: 0 }),
    ];
    for (const lock of locks) {
      await scene.world.settled(lock.acquire());
      expect(lastCommand(scene)?.type).toBe('acquire');
    }
  });

  it.each([-1, 60_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5'])('cannot be %s', async (wrong) => {
    const { connect } = await scenario();
    const client = await connect();
    const options = { lockDelayMs: wrong as number };
    for (const make of [
      () => client.lock('a', options),
      () => client.lock('a', { reentrant: true, ...options }),
      () => client.readWriteLock('a', options),
      () => client.semaphore('a', { permits: 1, ...options }),
      () => client.locks(['a'], options),
    ]) {
      expect(make).toThrow(InvalidArgumentError);
      expect(make).toThrow(/lockDelayMs is .*; it must be a whole number from 0 to 60000/);
    }
  });

  it('is refused with advice where the servers do not know it', async () => {
    const { world, ensemble, connect } = await scenario();
    ensemble.withoutOptions = true;
    const client = await connect();
    const error = await world.rejection(client.lock('a', { lockDelayMs: 5 }).acquire());
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ code: 'UNSUPPORTED' });
    expect((error as Error).message).toContain('has no delays of locks yet; upgrade all servers');
    expect((error as Error).message).toContain('state version 5');
  });
});

describe('a lock that is delayed', () => {
  it('is not had by who does not wait, and says why', async () => {
    const { world, ensemble, connect } = await scenario();
    ensemble.delays.set('a', DELAY);
    const client = await connect();
    const attempt = await world.settled(client.lock('a').tryAcquire());
    expect(attempt).toMatchObject({ acquired: false, reason: 'held', holder: { session: 0, token: 80 } });
    const error = await world.rejection(client.lock('a').acquire({ waitMs: 0 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toContain('lock "a" is delayed, since its holder under token 80 was lost');
  });

  it('is named as such to those who wait for it', async () => {
    const { world, ensemble, connect } = await scenario();
    const [holder, client] = [await connect(), await connect()];
    await world.settled(holder.readWriteLock('a').read().acquire());
    ensemble.delays.set('a', DELAY);
    const error = await world.rejection(client.readWriteLock('a').write().acquire({ waitMs: 1_000 }));
    expect((error as TimeoutError).wait).toMatchObject({ lock: 'a', before: 0, delay: DELAY });
    expect((error as Error).message).toContain('held by session');
  });

  it('is shown to operators, who can end the delay', async () => {
    const { world, ensemble, connect } = await scenario();
    ensemble.delays.set('a', DELAY);
    const { admin } = await connect();
    expect(await world.settled(admin.lock('a'))).toMatchObject({ holders: [], waiters: [], delay: DELAY });
    const { index } = await world.settled(admin.endLockDelay('a'));
    expect(index).toBe(ensemble.index);
    expect(ensemble.delays.size).toBe(0);
    expect((await world.settled(admin.lock('a'))).delay).toBeUndefined();
    expect(await world.rejection(admin.endLockDelay('a'))).toBeInstanceOf(NotFoundError);
  });
});
