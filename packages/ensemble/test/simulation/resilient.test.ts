import type { Client, ClientEvent, SessionLost } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT, type Applications } from '../support/applications.ts';
import { errorOf } from '../support/simulated-ensemble.ts';

interface Watched {
  readonly client: Client;
  readonly lost: SessionLost[];
  readonly events: ClientEvent['type'][];
}

async function resilient(world: Applications): Promise<Watched> {
  const lost: SessionLost[] = [];
  const client = await world.connect({ resilient: true, onSessionLost: (what) => lost.push(what) });
  const events: ClientEvent['type'][] = [];
  for (const type of ['connected', 'suspended', 'expired', 'closed'] as const)
    client.events.on(type, () => events.push(type));
  return { client, lost, events };
}

describe('a resilient client whose session expires', () => {
  it('has another one, and says which holds and waits were lost', async () => {
    const world = await applications(1);
    const { client, lost, events } = await resilient(world);
    const other = await world.connect();
    const [a, b] = [await world.complete(client.lock('a').acquire()), await world.complete(client.lock('b').acquire())];
    const { signal } = a;
    const others = await world.complete(other.lock('c').acquire());
    const waiting = client.lock('c').acquire();
    await world.ensemble.until(() => client.status().waits === 1);
    const { sessionId } = client;
    await world.expire(client);
    expect(signal.aborted).toBe(true);
    expect(() => b.assertHeld()).toThrow(/not renewed in time/);
    expect(lost).toMatchObject([{ sessionId, reason: 'expired', waits: ['c'] }]);
    expect(lost[0]?.holds.toSorted((one, two) => one.token - two.token)).toEqual([
      { lock: 'a', token: a.token },
      { lock: 'b', token: b.token },
    ]);

    const again = await world.complete(client.lock('a').acquire());
    expect(again.token).toBeGreaterThan(a.token);
    expect(client.sessionId).toBeGreaterThan(sessionId);
    expect(events).toEqual(['suspended', 'expired', 'connected']);

    // The wait goes on in the new session.
    await world.complete(others.release());
    expect((await world.complete(waiting)).token).toBeGreaterThan(others.token);
    expect(lost).toHaveLength(1);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('takes calls and watches at once, which wait for the new session', async () => {
    const world = await applications(2);
    const created: Promise<unknown>[] = [];
    const client: Client = await world.connect({
      resilient: true,
      onSessionLost: () => created.push(client.nodes.create('/back', '', { ephemeral: true })),
    });
    const { nodes } = client;
    await world.complete(nodes.create('/gone', '', { ephemeral: true }));
    await world.revoke(client);
    await world.ensemble.until(() => created.length === 1);
    await world.complete(Promise.all(created));
    expect((await world.complete(nodes.children('/'))).names).toEqual(['back', 'holdfast']);
    const watch = nodes.watch('/back');
    await world.complete(watch.started);
    await world.complete(nodes.set('/back', 'x'));
    expect(await world.complete(watch.next())).toMatchObject({ value: { type: 'changed', path: '/back' } });
  });

  it('keeps to the limit of a wait over the sessions', async () => {
    const world = await applications(3);
    const { client } = await resilient(world);
    const other = await world.connect();
    await world.complete(other.lock('a').acquire());
    const before = world.ensemble.world.nowMs;
    const waiting = errorOf(client.lock('a').acquire({ waitMs: 6_000 }));
    await world.expire(client);
    expect(await world.complete(waiting)).toMatchObject({ code: 'TIMEOUT' });
    expect(world.ensemble.world.nowMs - before).toBeLessThan(6_100);
    await world.pass(500);
    expect(client.status().waits).toBe(0);
  });

  it('is closed at once while it has no session, and leaves nothing behind', async () => {
    const world = await applications(4);
    const { client, events } = await resilient(world);
    await world.revoke(client);
    client.events.on('expired', () => world.cut(client));
    await world.ensemble.until(() => client.state !== 'connected');
    const created = errorOf(client.nodes.create('/n'));
    const before = world.ensemble.world.nowMs;
    await world.complete(client.close());
    expect(world.ensemble.world.nowMs - before).toBeLessThan(10);
    expect(await world.complete(created)).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect([client.state, events.at(-1)]).toEqual(['closed', 'closed']);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('reports every session that it loses, and what its callback throws harms nothing', async () => {
    const world = await applications(5);
    const lost: number[] = [];
    const client = await world.connect({
      resilient: true,
      onSessionLost: ({ sessionId }) => {
        lost.push(sessionId);
        throw new Error('of the application');
      },
    });
    for (let n = 1; n <= 3; n += 1) {
      await world.revoke(client);
      await world.ensemble.until(() => lost.length === n && client.state === 'connected');
    }
    expect(new Set(lost).size).toBe(3);
    await world.complete(client.lock('a').withLock(() => undefined));
  });

  it('keeps its session over a change of leader', async () => {
    const world = await applications(6);
    const { client, lost } = await resilient(world);
    const held = await world.complete(client.lock('a').acquire());
    await world.changeLeader();
    await world.complete(held.verify());
    expect(lost).toEqual([]);
  });
});

describe('an ordinary client whose session expires', () => {
  it('is over, and says what was lost', async () => {
    const world = await applications(7);
    const lost: SessionLost[] = [];
    const client = await world.connect({ onSessionLost: (what) => lost.push(what) });
    const held = await world.complete(client.lock('a').acquire());
    const waiting = errorOf(client.lock('a').acquire());
    await world.revoke(client);
    expect(await world.complete(waiting)).toMatchObject({ code: 'SESSION_EXPIRED' });
    const { sessionId } = client;
    const holds = [{ lock: 'a', token: held.token }];
    expect(lost).toEqual([{ sessionId, reason: 'revoked', holds, waits: ['a'] }]);
    expect(await world.complete(errorOf(client.lock('a').acquire()))).toMatchObject({ code: 'SESSION_EXPIRED' });
  });

  it('says nothing of a close', async () => {
    const world = await applications(8);
    const lost: SessionLost[] = [];
    const client = await world.connect({ onSessionLost: (what) => lost.push(what) });
    await world.complete(client.lock('a').acquire());
    await world.complete(client.close());
    expect(lost).toEqual([]);
  });
});
