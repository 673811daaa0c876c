import type { QueueItem } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../../support/applications.ts';
import { errorOf } from '../../support/simulated-ensemble.ts';

const text = (item: QueueItem): string => new TextDecoder().decode(item.data);

describe('a queue', () => {
  it('gives each item to one consumer and loses none, over a change of leader', async () => {
    const world = await applications(1);
    const [producer, a, b] = [await world.connect(), await world.connect(), await world.connect()];
    const done: string[] = [];
    const aborter = new AbortController();
    const consuming = [a, b].map((client) =>
      errorOf(
        (async () => {
          for await (const item of client.queue('q').consume({ signal: aborter.signal })) {
            done.push(text(item));
            await item.done();
          }
        })(),
      ),
    );
    for (let n = 0; n < 12; n += 1) {
      await world.complete(producer.queue('q').put(`item ${String(n).padStart(2, '0')}`));
      if (n === 5) await world.changeLeader();
    }
    await world.ensemble.until(() => done.length === 12);
    await world.pass(200);
    expect(done.toSorted()).toEqual(Array.from({ length: 12 }, (_, n) => `item ${String(n).padStart(2, '0')}`));
    expect(await world.complete(producer.queue('q').size())).toBe(0);
    aborter.abort('enough');
    expect(await world.complete(Promise.all(consuming))).toEqual(['enough', 'enough']);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('gives the item of a dead consumer to the next, with a higher token, and refuses the dead one', async () => {
    const world = await applications(2);
    const [dying, next] = [await world.connect({ resilient: true }), await world.connect()];
    await world.complete(next.queue('q').put('work'));
    const first = await world.complete(dying.queue('q').take());
    expect(first.remainingMs()).toBeGreaterThan(1_000);
    const taking = next.queue('q').take();
    world.cut(dying);
    const second = await world.complete(taking);
    expect(text(second)).toBe('work');
    expect(second.token).toBeGreaterThan(first.token);
    // It knows before it is connected again.
    expect(first.signal.aborted).toBe(true);
    expect(() => first.assertHeld()).toThrow(/item .* of queue q.* is not held any more/);
    world.heal(dying);
    await world.pass(1_000);
    expect(await world.complete(errorOf(first.done()))).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    await world.complete(second.done());
    expect(second.signal.aborted).toBe(true);
    expect(await world.complete(next.queue('q').size())).toBe(0);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('takes an item back to its place when it was not done', async () => {
    const world = await applications(3);
    const client = await world.connect();
    const queue = client.queue('q');
    for (const item of ['a', 'b']) await world.complete(queue.put(item));
    const order: string[] = [];
    const consume = async (): Promise<void> => {
      for await (const item of queue.consume()) {
        order.push(text(item));
        if (order.length === 1) continue;
        if (order.length === 2) throw new Error('of the application');
        await item.done();
        if (order.length === 4) break;
      }
    };
    expect(await world.complete(errorOf(consume()))).toMatchObject({ message: 'of the application' });
    await world.complete(consume());
    expect(order).toEqual(['a', 'a', 'a', 'b']);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('gives up a wait with its limit or its signal, and claims nothing for it', async () => {
    const world = await applications(4);
    const client = await world.connect();
    const queue = client.queue('q');
    expect(await world.complete(errorOf(queue.take({ waitMs: 200 })))).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/^queue "q": .* within 200 ms; it has no item that nobody else has$/),
    });
    const aborter = new AbortController();
    const waiting = errorOf(queue.take({ signal: aborter.signal }));
    await world.pass(50);
    // The claim is on its way when the signal aborts.
    const putting = queue.put('work');
    await world.ensemble.until(() => client.status().unanswered > 0);
    await world.complete(putting);
    aborter.abort('enough');
    const outcome = await world.complete(waiting);
    if (outcome !== undefined) expect(outcome).toBe('enough');
    const item = await world.complete(queue.take({ waitMs: 3_000 }));
    await world.complete(item.done());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('finds the free item behind more than a page of claimed ones', async () => {
    const world = await applications(5);
    const [client, other] = [await world.connect(), await world.connect()];
    await world.complete(Promise.all(Array.from({ length: 103 }, (_, n) => client.queue('q').put(String(n)))));
    const taken: QueueItem[] = [];
    for (let n = 0; n < 102; n += 1) taken.push(await world.complete(client.queue('q').take()));
    expect(text(await world.complete(other.queue('q').take()))).toBe('102');
    expect(new Set(taken.map(({ id }) => id)).size).toBe(102);
  });
});
