import type { BarrierEntry, Client } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT, type Applications } from '../../support/applications.ts';
import { errorOf } from '../../support/simulated-ensemble.ts';

async function clients(world: Applications, count: number): Promise<Client[]> {
  const all: Client[] = [];
  while (all.length < count) all.push(await world.connect());
  return all;
}

describe('a double barrier', () => {
  it('lets the parties of each round in together and out together, over a change of leader', async () => {
    const world = await applications(1);
    const all = await clients(world, 3);
    // [round, what]: nobody may begin a round before all have ended the one before.
    const steps: string[] = [];
    let inside = 0;
    const mostInside: number[] = [];
    const working = all.map(async (client, n) => {
      const { clock } = world.ensemble.world.host(`application-${n + 1}`).runtime;
      for (let round = 1; round <= 2; round += 1) {
        const entry = await client.doubleBarrier('d', { parties: 3 }).enter();
        steps.push(`in ${round}`);
        inside += 1;
        // Longer than after a change of leader anybody takes to be told.
        await new Promise<void>((resolve) => clock.setTimer(5_000 + 50 * n, resolve));
        mostInside.push(inside);
        inside -= 1;
        await entry.leave();
        steps.push(`out ${round}`);
      }
    });
    await world.changeLeader();
    await world.complete(Promise.all(working));
    const rounds = [1, 2].flatMap((round) => [...Array(3).fill(`in ${round}`), ...Array(3).fill(`out ${round}`)]);
    const sorted = steps.toSorted((one, two) => Number(one.split(' ')[1]) - Number(two.split(' ')[1]));
    expect(sorted).toEqual(rounds);
    expect(Math.max(...mostInside)).toBe(3);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('does not count who died while it waited, and lets no fourth one slip in', async () => {
    const world = await applications(2);
    const [a, b, c, d] = (await clients(world, 4)) as [Client, Client, Client, Client];
    const enter = (client: Client) => client.doubleBarrier('d', { parties: 3 }).enter();
    const dead = errorOf(enter(a));
    await world.pass(100);
    await world.expire(a);
    expect(await world.complete(dead)).toMatchObject({ code: 'SESSION_EXPIRED' });
    const entered: BarrierEntry[] = [];
    const entering = [b, c].map(async (client) => entered.push(await enter(client)));
    await world.pass(500);
    expect(entered).toEqual([]);
    const third = await world.complete(enter(d));
    await world.complete(Promise.all(entering));
    // The next round begins when this one is over.
    const again = await world.connect();
    let early = true;
    const fourth = enter(again).then((entry) => {
      expect(early).toBe(false);
      return entry;
    });
    const leaving = [third, ...entered].map((entry) => entry.leave());
    await world.complete(Promise.all(leaving));
    early = false;
    const next = [b, c].map((client) => enter(client));
    const all = await world.complete(Promise.all([fourth, ...next]));
    await world.complete(Promise.all(all.map((entry) => entry.leave())));
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('lets those out who wait for one that died inside', async () => {
    const world = await applications(3);
    const [a, b] = (await clients(world, 2)) as [Client, Client];
    const enter = (client: Client) => client.doubleBarrier('d', { parties: 2 }).enter();
    const [, inB] = await world.complete(Promise.all([enter(a), enter(b)]));
    const leaving = inB.leave();
    expect(await world.complete(errorOf(inB.leave({ waitMs: 200 })))).toMatchObject({ code: 'TIMEOUT' });
    world.cut(a);
    await world.complete(leaving);
    world.heal(a);
  });

  it('gives a place up with the wait for it', async () => {
    const world = await applications(4);
    const [a, b] = (await clients(world, 2)) as [Client, Client];
    const barrier = a.doubleBarrier('d', { parties: 2 });
    expect(await world.complete(errorOf(barrier.enter({ waitMs: 300 })))).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/^double barrier "d" of 2: .* within 300 ms; 1 of 2 have come$/),
    });
    await world.pass(50);
    const waiting = errorOf(b.doubleBarrier('d', { parties: 2 }).enter({ waitMs: 500 }));
    expect(await world.complete(waiting)).toMatchObject({ code: 'TIMEOUT' });
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('refuses another number of parties than those inside came for', async () => {
    const world = await applications(5);
    const [a, b] = (await clients(world, 2)) as [Client, Client];
    expect(() => a.doubleBarrier('d', { parties: 0 })).toThrow(/parties is 0/);
    expect(() => a.doubleBarrier('d', { partys: 2 } as unknown as { parties: number })).toThrow(/did you mean parties/);
    const aborter = new AbortController();
    const waiting = errorOf(a.doubleBarrier('d', { parties: 2 }).enter({ signal: aborter.signal }));
    await world.pass(100);
    expect(await world.complete(errorOf(b.doubleBarrier('d', { parties: 3 }).enter()))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('one of 2'),
    });
    aborter.abort('enough');
    expect(await world.complete(waiting)).toBe('enough');
  });
});
