import type { ServerMessage } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import type { HeldLock } from '../../src/locks/held-lock.ts';
import { HoldNews } from '../../src/locks/held/hold-news.ts';
import { wantedOf } from '../../src/locks/wanted.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

/** What the server says of a hold. */
async function tell(
  { world, ensemble }: Scenario,
  client: Client,
  message: Extract<ServerMessage, { type: 'floor' | 'contended' }>,
): Promise<void> {
  ensemble.session(client.sessionId).send?.(message);
  await world.sleep(10);
}

function floor({ acquireIndex }: HeldLock, raised: number, lock = 'a') {
  return { type: 'floor', index: 200, lock, acquireIndex, floor: raised } as const;
}

describe('the floor of a hold', () => {
  it('is its token where it holds the lock alone', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const locks = [client.lock('a'), client.readWriteLock('b').write(), client.locks(['c', 'd'])];
    for (const lock of locks) {
      const held = await world.settled(lock.acquire());
      expect(held.floor).toBe(held.token);
    }
  });

  it('is the lowest of those who hold the lock together, rises as it is told, and never falls', async () => {
    const scene = await scenario();
    const [client, other] = [await scene.connect(), await scene.connect()];
    const first = await scene.world.settled(client.readWriteLock('a').read().acquire());
    const held = await scene.world.settled(other.readWriteLock('a').read().acquire());
    expect([first.floor, held.floor]).toEqual([first.token, first.token]);
    await tell(scene, other, floor(held, held.token));
    expect([first.floor, held.floor]).toEqual([first.token, held.token]);
    await tell(scene, other, floor(held, first.token));
    expect(held.floor).toBe(held.token);
  });

  it('comes with a grant to one who has waited', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const all = await world.settled(client.semaphore('a', { permits: 2 }).acquire({ permits: 2 }));
    const waiting = other.semaphore('a', { permits: 2 }).acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    await world.settled(all.release());
    const held = await world.settled(waiting);
    expect(held.floor).toBe(held.token);
  });

  it('of a hold to write that was downgraded rises as that of others', async () => {
    const scene = await scenario();
    const client = await scene.connect();
    const held = await scene.world.settled(client.readWriteLock('a').write().acquire());
    await scene.world.settled(held.downgrade());
    expect(held.floor).toBe(held.token);
    await tell(scene, client, floor(held, held.token + 1));
    expect(held.floor).toBe(held.token + 1);
  });

  it('of several locks is the lowest of those that others may hold, too', () => {
    const news = new HoldNews(
      wantedOf(
        { lock: 'r', asked: { type: 'readWrite', write: false } },
        { lock: 's', asked: { type: 'semaphore', permits: 1, limit: 3 } },
        { lock: 'x', asked: { type: 'mutex' } },
      ),
    );
    news.granted(100, 60);
    expect(news.floor).toBe(60);
    news.floorRaised('r', 90);
    expect(news.floor).toBe(60);
    news.floorRaised('x', 500);
    expect(news.floor).toBe(60);
    news.floorRaised('s', 80);
    expect(news.floor).toBe(80);
  });

  it('is 0 where the servers do not tell it', () => {
    const news = new HoldNews(wantedOf({ lock: 'r', asked: { type: 'readWrite', write: false } }));
    news.granted(100, undefined);
    expect(news.floor).toBe(0);
  });
});

describe('a hold for which others wait', () => {
  it('is contended from when the server says so, and stays held', async () => {
    const scene = await scenario();
    const client = await scene.connect();
    const held = await scene.world.settled(client.lock('a').acquire());
    const { contendedSignal } = held;
    expect([held.contended, contendedSignal.aborted]).toEqual([false, false]);
    const { acquireIndex } = held;
    await tell(scene, client, { type: 'contended', index: 200, lock: 'a', acquireIndex });
    expect([held.contended, contendedSignal.aborted, held.contendedSignal]).toEqual([true, true, contendedSignal]);
    expect(held.loss).toBeUndefined();
    await tell(scene, client, { type: 'contended', index: 201, lock: 'a', acquireIndex });
    await scene.world.settled(held.release());
  });

  it('has a signal that has aborted, also for who asks for it later', async () => {
    const scene = await scenario();
    const client = await scene.connect();
    const held = await scene.world.settled(client.lock('a').acquire());
    await tell(scene, client, { type: 'contended', index: 200, lock: 'a', acquireIndex: held.acquireIndex });
    expect(held.contendedSignal.aborted).toBe(true);
  });

  it('is not contended by what is said when it is over, nor is another', async () => {
    const scene = await scenario();
    const client = await scene.connect();
    const [held, other] = [
      await scene.world.settled(client.lock('a').acquire()),
      await scene.world.settled(client.lock('b').acquire()),
    ];
    await scene.world.settled(held.release());
    await tell(scene, client, { type: 'contended', index: 200, lock: 'a', acquireIndex: held.acquireIndex });
    expect([held.contended, other.contended]).toEqual([false, false]);
  });

  it('is so for every entry of a reentrant lock, those to come included', async () => {
    const scene = await scenario();
    const client = await scene.connect();
    const lock = client.lock('a', { reentrant: true });
    const first = await scene.world.settled(lock.acquire());
    await tell(scene, client, { type: 'contended', index: 200, lock: 'a', acquireIndex: first.acquireIndex });
    const second = await scene.world.settled(lock.acquire());
    expect([first.contended, second.contended, second.floor]).toEqual([true, true, second.token]);
  });
});
