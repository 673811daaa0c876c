import { describe, expect, it } from 'vitest';
import type { ReleaseRequestOptions } from '../../src/admin.ts';
import { InvalidArgumentError, NotFoundError, ReleaseRequestedError } from '../../src/errors.ts';
import { scenario } from '../support/scenario.ts';

describe('a holder that is asked to release', () => {
  it('has a signal that aborts, and knows who asks, until when, and what comes then', async () => {
    const { world, host, connect } = await scenario();
    const [client, operator] = [await connect(), await connect()];
    const held = await world.settled(client.lock('a').acquire());
    const { releaseRequested: signal } = held;
    expect([signal.aborted, held.releaseRequest]).toEqual([false, undefined]);
    await world.settled(operator.admin.requestRelease('a', held.token, { withinMs: 5_000, atDeadline: 'revoke' }));
    await world.until(() => signal.aborted);
    expect(signal.reason).toBeInstanceOf(ReleaseRequestedError);
    expect((signal.reason as Error).message).toBe(
      '"operator" has asked for lock "a" to be released; it is revoked when its time is over',
    );
    expect(held.releaseRequest).toMatchObject({ by: 'operator', atDeadline: 'revoke' });
    const leftMs = (held.releaseRequest?.deadlineMs ?? 0) - host.runtime.clock.wallMs();
    expect(Math.abs(leftMs - 5_000)).toBeLessThan(100);
    // It still holds.
    expect([held.loss, held.signal.aborted]).toEqual([undefined, false]);
    held.assertHeld();
    await world.settled(held.release());
  });

  it('sees it as well when it looks later, and has the last request', async () => {
    const { world, connect } = await scenario();
    const [client, operator] = [await connect(), await connect()];
    const held = await world.settled(client.lock('a').acquire());
    await world.settled(operator.admin.requestRelease('a', held.token));
    await world.until(() => held.releaseRequest !== undefined);
    expect(held.releaseRequest?.atDeadline).toBe('leave');
    await world.settled(operator.admin.requestRelease('a', held.token, { atDeadline: 'revoke' }));
    await world.until(() => held.releaseRequest?.atDeadline === 'revoke');
    expect(held.releaseRequested.aborted).toBe(true);
  });

  it('gives way at a good place', async () => {
    const { world, host, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const pause = (): Promise<void> => new Promise((resolve) => void host.runtime.clock.setTimer(100, resolve));
    const done: number[] = [];
    const working = client.lock('a').withLock(async (held) => {
      for (let job = 0; job < 100 && !held.releaseRequested.aborted; job += 1) {
        await pause();
        done.push(job);
      }
    });
    await world.sleep(350);
    const next = other.lock('a').acquire();
    const { holders } = await world.settled(other.admin.lock('a'));
    await world.settled(other.admin.requestRelease('a', holders[0]?.token ?? 0));
    await world.settled(working);
    await world.settled(next);
    expect(done.length).toBeLessThan(10);
  });

  it('tells it to every entry of a reentrant lock, and to those that come later', async () => {
    const { world, connect } = await scenario();
    const [client, operator] = [await connect(), await connect()];
    const lock = client.lock('a', { reentrant: true });
    const first = await world.settled(lock.acquire());
    const { releaseRequested: signal } = first;
    await world.settled(operator.admin.requestRelease('a', first.token));
    await world.until(() => signal.aborted);
    const second = await world.settled(lock.acquire());
    expect([second.releaseRequested.aborted, second.releaseRequest?.by]).toEqual([true, 'operator']);
  });

  it('hears nothing of holds that it has not', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const request = { acquireIndex: 1, withinMs: 1, revokes: true };
    ensemble.askToRelease({ lock: 'b', session: client.sessionId }, request);
    await world.sleep(100);
    expect(held.releaseRequest).toBeUndefined();
  });
});

describe('asking for a lock', () => {
  it('needs a holder under that token', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    expect(await world.rejection(client.admin.requestRelease('a', 7))).toBeInstanceOf(NotFoundError);
  });

  const wrong: readonly (readonly [ReleaseRequestOptions, string])[] = [
    [{ withinMs: -1 }, 'withinMs is -1'],
    [{ withinMs: 1.5 }, 'withinMs is 1.5'],
    [{ withinMs: 86_400_001 }, 'withinMs is 86400001'],
    [{ atDeadline: 'kill' as 'leave' }, 'atDeadline is "kill"'],
    [{ hold: 0 }, 'hold 0 is no index'],
  ];

  it.each(wrong)('is refused with %o', async (options, message) => {
    const { world, connect } = await scenario();
    const error = await world.rejection((await connect()).admin.requestRelease('a', 7, options));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain(message);
  });
});
