import { DeadlockError, type HeldLock } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../support/applications.ts';

const WITHIN_MS = 5_000;
/** A message on its way, and what the leader's look at its requests may be late. */
const SOON_MS = 500;

async function collected<T>(all: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const each of all) list.push(each);
  return list;
}

describe('clients that wait for each other in a ring', () => {
  it('are listed, told who is in it, and go on when the youngest gives way that has asked for that', async () => {
    const world = await applications(26);
    const clients = [await world.connect(), await world.connect(), await world.connect()];
    const names = ['a', 'b', 'c'];
    const holds: HeldLock[] = [];
    for (const [at, client] of clients.entries()) {
      holds.push(await world.complete(client.lock(names[at] ?? '').acquire()));
    }
    const [first, second, third] = clients;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three clients');
    const waits = [first.lock('b').acquire(), second.lock('c').acquire()];
    await world.ensemble.until(() => first.status().waits + second.status().waits === 2);

    const closing = third.lock('a').acquire().then(String, String);
    await world.ensemble.until(() => third.status().waits === 1);
    const listed = await world.complete(collected(first.admin.deadlocks()));
    expect(listed.map(({ steps }) => steps.map(({ holds: held, waitsFor }) => [held, waitsFor]))).toEqual([
      [
        ['c', 'a'],
        ['a', 'b'],
        ['b', 'c'],
      ],
    ]);
    await world.expire(third);
    expect(await world.complete(closing)).toContain('the session has ended');
    const [own, next] = [waits[0], await world.complete(waits[1] ?? Promise.reject(new Error('a wait')))];

    const again = await world.connect();
    const held = await world.complete(again.lock('d').acquire());
    const wait = first.lock('d').acquire();
    await world.ensemble.until(() => first.status().waits === 2);
    const refused = again.lock('a', { deadlockPolicy: 'abort-youngest' }).acquire();
    const error = await world.complete(refused.catch((reason: unknown) => reason));
    expect(error).toBeInstanceOf(DeadlockError);
    expect((error as DeadlockError).cycle.map(({ holds: has, waitsFor }) => [has, waitsFor])).toEqual([
      ['d', 'a'],
      ['a', 'd'],
    ]);
    held.assertHeld();
    await world.complete(held.release());
    await world.complete((await world.complete(wait)).release());
    for (const each of [next, holds[1]]) await world.complete(each?.release() ?? Promise.resolve());
    await world.complete((await world.complete(own ?? Promise.reject(new Error('a wait')))).release());
    await world.complete(holds[0]?.release() ?? Promise.resolve());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});

describe('a holder that is asked to release', () => {
  it('hears of it after a change of leader as well, and gives the lock back', async () => {
    const world = await applications(27);
    const [holder, operator] = [await world.connect({ sessionTimeoutMs: 20_000 }), await world.connect()];
    const held = await world.complete(holder.lock('a').acquire());
    world.cut(holder);
    await world.complete(operator.admin.requestRelease('a', held.token, { withinMs: 60_000 }));
    await world.changeLeader();
    expect(held.releaseRequest).toBeUndefined();
    world.heal(holder);
    await world.ensemble.until(() => held.releaseRequested.aborted);
    expect(held.releaseRequest).toMatchObject({ atDeadline: 'leave' });
    held.assertHeld();
    await world.complete(held.release());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('loses the lock when its time is over, where the operator has said so, and not before', async () => {
    const world = await applications(28);
    const [holder, operator] = [await world.connect(), await world.connect()];
    const held = await world.complete(holder.lock('a').acquire());
    const waiting = operator.lock('a').acquire();
    await world.ensemble.until(() => operator.status().waits === 1);
    const askedAtMs = world.ensemble.world.nowMs;
    const request = { withinMs: WITHIN_MS, atDeadline: 'revoke' } as const;
    await world.complete(operator.admin.requestRelease('a', held.token, request));
    const next = await world.complete(waiting);
    expect(next.token).toBeGreaterThan(held.token);
    const waitedMs = world.ensemble.world.nowMs - askedAtMs;
    expect(waitedMs).toBeGreaterThanOrEqual(WITHIN_MS);
    expect(waitedMs).toBeLessThan(WITHIN_MS + SOON_MS);
    await world.ensemble.until(() => held.loss?.reason === 'revoked');
    await world.complete(next.release());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});
