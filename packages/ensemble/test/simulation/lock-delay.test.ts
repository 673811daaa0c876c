import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../support/applications.ts';

const DELAY_MS = 5_000;
/** A message on its way, and what the leader's look at its delays may be late. */
const SOON_MS = 500;
/** From the end of a session until its client, which was cut off, has heard of it. */
const SESSION_END_HEARD_MS = 3_000;

describe('a lock whose holder was lost', () => {
  it('is granted when the delay is over that the holder had asked for, and not before', async () => {
    const world = await applications(21);
    const [holder, other] = [await world.connect(), await world.connect()];
    const held = await world.complete(holder.lock('a', { lockDelayMs: DELAY_MS }).acquire());
    const waiting = other.lock('a').acquire();
    await world.ensemble.until(() => other.status().waits === 1);
    await world.expire(holder);
    const lostAtMs = world.ensemble.world.nowMs;
    expect(await world.complete(other.admin.lock('a'))).toMatchObject({
      holders: [],
      delay: { delayMs: DELAY_MS, token: held.token },
    });
    const next = await world.complete(waiting);
    expect(next.token).toBeGreaterThan(held.token);
    const waitedMs = world.ensemble.world.nowMs - lostAtMs;
    // When the session had expired, its client heard of it a moment later.
    expect(waitedMs).toBeGreaterThan(DELAY_MS - SESSION_END_HEARD_MS);
    expect(waitedMs).toBeLessThan(DELAY_MS + SOON_MS);
    await world.complete(next.release());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is delayed in full by a new leader', async () => {
    const world = await applications(22);
    const [holder, other] = [await world.connect(), await world.connect({ sessionTimeoutMs: 20_000 })];
    await world.complete(holder.lock('a', { lockDelayMs: DELAY_MS }).acquire());
    await world.revoke(holder);
    await world.pass(DELAY_MS - 1_000);
    await world.changeLeader();
    const ledAtMs = world.ensemble.world.nowMs;
    const next = await world.complete(other.lock('a').acquire());
    expect(world.ensemble.world.nowMs - ledAtMs).toBeGreaterThan(DELAY_MS - 2_000);
    await world.complete(next.release());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is granted at once when its owner gives it back, releasing or closing', async () => {
    const world = await applications(23);
    const [holder, other] = [await world.connect(), await world.connect()];
    for (const giveBack of ['release', 'close']) {
      const held = await world.complete(holder.lock('a', { lockDelayMs: DELAY_MS }).acquire());
      const waiting = other.lock('a').acquire();
      await world.ensemble.until(() => other.status().waits === 1);
      const beganMs = world.ensemble.world.nowMs;
      await world.complete(giveBack === 'release' ? held.release() : holder.close());
      await world.complete((await world.complete(waiting)).release());
      expect(world.ensemble.world.nowMs - beganMs).toBeLessThan(SOON_MS);
    }
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});

describe('what holders are told', () => {
  it('is the floor of their lock, which rises when the first of them leaves', async () => {
    const world = await applications(24);
    const clients = [await world.connect(), await world.connect(), await world.connect()];
    const holds = [];
    for (const client of clients) holds.push(await world.complete(client.readWriteLock('a').read().acquire()));
    const [first, second, third] = holds;
    expect(holds.map(({ floor }) => floor)).toEqual(holds.map(() => first?.token));
    await world.complete(first?.release() ?? Promise.resolve());
    await world.ensemble.until(() => third?.floor === second?.token);
    expect(second?.floor).toBe(second?.token);
    for (const held of [second, third]) await world.complete(held?.release() ?? Promise.resolve());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('is that others wait, also when they did so before, and when the holder was away', async () => {
    const world = await applications(25);
    const [client, other] = [await world.connect({ sessionTimeoutMs: 20_000 }), await world.connect()];
    const held = await world.complete(client.lock('a').acquire());
    expect(held.contended).toBe(false);
    world.cut(client);
    const waiting = other.lock('a').acquire();
    await world.ensemble.until(() => other.status().waits === 1);
    await world.pass(3_000);
    expect(held.contended).toBe(false);
    world.heal(client);
    await world.ensemble.until(() => held.contendedSignal.aborted);
    const behind = client.lock('a').acquire();
    await world.ensemble.until(() => client.status().waits === 1);
    await world.complete(held.release());
    const next = await world.complete(waiting);
    await world.ensemble.until(() => next.contended);
    await world.complete(next.release());
    await world.complete((await world.complete(behind)).release());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});
