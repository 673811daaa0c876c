/** What holders and waiters may rely on of each other: lock delays, floors, contention, deadlocks, and requests to release. */

import { DeadlockError, type HeldLock } from '@holdfast/client';
import { expect, it } from 'vitest';
import type { Subject } from './suite.ts';

const DELAY_MS = 2_000;

export function waitingPromises(present: () => Subject, fresh: () => string): void {
  it('a lock is granted after the delay that a lost holder had asked for, and at once when it is given back', async () => {
    const subject = present();
    await subject.agreed();
    const [name, other, operator] = [fresh(), await subject.connect(), await subject.connect()];
    const lock = operator.lock(name, { lockDelayMs: DELAY_MS });
    await subject.complete((await subject.complete(lock.acquire())).release());
    const lost = await subject.complete(lock.acquire());
    await subject.complete(operator.admin.revoke(name, lost.token));
    const look = await subject.complete(operator.admin.lock(name));
    expect(look).toMatchObject({ holders: [], delay: { delayMs: DELAY_MS, token: lost.token } });
    const held = await subject.complete(other.lock(name).acquire());
    expect(held.token).toBeGreaterThan(lost.token);
    expect((await subject.complete(operator.admin.lock(name))).delay).toBeUndefined();
    await subject.complete(held.release());
  });

  it('who shares a lock knows the lowest token under which it is held, and hears when it rises', async () => {
    const subject = present();
    const name = fresh();
    const holds: HeldLock[] = [];
    for (let n = 0; n < 2; n += 1) {
      const client = await subject.connect();
      holds.push(await subject.complete(client.readWriteLock(name).read().acquire()));
    }
    const [first, second] = holds;
    expect(holds.map(({ floor }) => floor)).toEqual([first?.token, first?.token]);
    await subject.complete(first?.release() ?? Promise.resolve());
    await subject.until(() => second?.floor === second?.token);
    await subject.complete(second?.release() ?? Promise.resolve());
  });

  it('a holder hears that others wait, and goes on', async () => {
    const subject = present();
    const [name, client, other] = [fresh(), await subject.connect(), await subject.connect()];
    const held = await subject.complete(client.lock(name).acquire());
    expect(held.contended).toBe(false);
    const waiting = other.lock(name).acquire();
    await subject.until(() => held.contendedSignal.aborted);
    held.assertHeld();
    await subject.complete(held.release());
    await subject.complete((await subject.complete(waiting)).release());
  });

  it('a wait that would close a deadlock ends, and says who is in it', async () => {
    const subject = present();
    const [a, b] = [fresh(), fresh()];
    const [client, other] = [await subject.connect(), await subject.connect()];
    const [one, two] = [
      await subject.complete(client.lock(a).acquire()),
      await subject.complete(other.lock(b).acquire()),
    ];
    const waiting = client.lock(b).acquire();
    await subject.until(() => client.status().waits === 1);
    const closing = other.lock(a, { deadlockPolicy: 'abort-youngest' }).acquire();
    const error = await subject.complete(closing.catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(DeadlockError);
    expect((error as DeadlockError).cycle.map(({ session, holds, waitsFor }) => [session, holds, waitsFor])).toEqual([
      [other.sessionId, b, a],
      [client.sessionId, a, b],
    ]);
    two.assertHeld();
    await subject.complete(two.release());
    await subject.complete((await subject.complete(waiting)).release());
    await subject.complete(one.release());
  });

  it('a holder that an operator asks hears of it, and keeps the lock until its time is over', async () => {
    const subject = present();
    const [name, client, operator] = [fresh(), await subject.connect(), await subject.connect()];
    const held = await subject.complete(client.lock(name).acquire());
    await subject.complete(operator.admin.requestRelease(name, held.token, { withinMs: 60_000 }));
    await subject.until(() => held.releaseRequested.aborted);
    held.assertHeld();
    const request = { withinMs: 1_000, atDeadline: 'revoke' } as const;
    await subject.complete(operator.admin.requestRelease(name, held.token, request));
    await subject.until(() => held.loss !== undefined);
    expect(held.loss?.reason).toBe('revoked');
  });
}
