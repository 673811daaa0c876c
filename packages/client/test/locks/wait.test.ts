import { describe, expect, it } from 'vitest';
import { InvalidArgumentError, TimeoutError } from '../../src/errors.ts';
import type { LongWaitEvent } from '../../src/events.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

/** Reads of the queue of a lock that any server was asked for. */
function looks({ ensemble }: Scenario): number {
  return ensemble.received.filter(({ message }) => message.type === 'read' && message.query.type === 'lock').length;
}

describe('a wait that takes longer than it may', () => {
  it('says who holds the lock, since when, and how many are before', async () => {
    const world = await scenario();
    const holder = await world.connect();
    const held = await world.world.settled(holder.lock('a').acquire());
    const first = await world.connect();
    const earlier = first.lock('a').acquire();
    await world.world.until(() => world.ensemble.queue('a').length === 2);
    const client = await world.connect();
    const error = await world.world.rejection(client.lock('a').acquire({ waitMs: 2_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    const { wait, message } = error as TimeoutError;
    expect(wait).toMatchObject({ lock: 'a', before: 1, truncated: false });
    expect(wait?.holders).toMatchObject([{ session: holder.sessionId, token: held.token }]);
    expect(wait?.waitedMs).toBeGreaterThan(1_900);
    expect(message).toContain(`not granted within 2000 ms`);
    expect(message).toContain(`held by session ${holder.sessionId} under token ${held.token} since 1970-01-01T`);
    expect(message).toContain('1 other is before this acquire');
    await world.world.settled(held.release());
    expect((await world.world.settled(earlier)).token).toBeGreaterThan(held.token);
  });

  it('ends in time although the ensemble says nothing', async () => {
    const world = await scenario();
    const held = await world.world.settled((await world.connect()).lock('a').acquire());
    const client = await world.connect();
    for (const server of world.ensemble.servers)
      server.hook = (message) => (message.type === 'read' ? 'ignore' : 'handle');
    const beganMs = world.world.nowMs;
    const error = await world.world.rejection(client.lock('a').acquire({ waitMs: 300 }));
    expect(world.world.nowMs - beganMs).toBeLessThan(320);
    expect(error).toMatchObject({ code: 'TIMEOUT', wait: undefined });
    expect(held.loss).toBeUndefined();
  });

  it('asks once for many that wait for one lock, and not at all for those that are granted before', async () => {
    const world = await scenario();
    const held = await world.world.settled((await world.connect()).lock('a').acquire());
    const client = await world.connect();
    const soon = client.lock('a').acquire({ waitMs: 5_000 });
    await world.world.until(() => world.ensemble.queue('a').length === 2);
    await world.world.settled(held.release());
    const next = await world.world.settled(soon);
    expect(looks(world)).toBe(0);
    const waits = Array.from({ length: 50 }, () => client.lock('a').acquire({ waitMs: 1_000 }));
    const errors = await Promise.all(waits.map(async (wait) => (await world.world.rejection(wait)) as TimeoutError));
    expect(errors.map(({ wait }) => wait?.before)).toEqual(Array.from({ length: 50 }, (_, before) => before));
    expect(looks(world)).toBeLessThanOrEqual(2);
    expect(next.loss).toBeUndefined();
  });
});

describe('a wait without a limit of its own', () => {
  it('has that of the client', async () => {
    const world = await scenario();
    await world.world.settled((await world.connect()).lock('a').acquire());
    const client = await world.connect({ defaultWaitMs: 700 });
    const error = await world.world.rejection(client.lock('a').withLock(() => undefined));
    expect((error as Error).message).toContain('not granted within 700 ms');
    const own = client.lock('a').acquire({ waitMs: Number.POSITIVE_INFINITY });
    await world.world.sleep(5_000);
    expect(client.status().waits).toBe(1);
    const failed = expect(own).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
    await world.world.settled(client.close());
    await failed;
  });

  it('leaves a campaign alone', async () => {
    const world = await scenario();
    await world.world.settled((await world.connect()).lock('election/e').acquire());
    const client = await world.connect({ defaultWaitMs: 700 });
    const campaign = client.election('e').campaign();
    const term = campaign.next();
    await world.world.sleep(3_000);
    expect(client.status().waits).toBe(1);
    expect(world.ensemble.requests().filter(({ command }) => command === 'acquire')).toHaveLength(2);
    const failed = expect(term).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
    await world.world.settled(client.close());
    await failed;
  });
});

describe('a wait that takes long', () => {
  it('is an event and a warning after longWaitMs, and again after twice as long', async () => {
    const world = await scenario();
    const holder = await world.connect();
    const held = await world.world.settled(holder.lock('a').acquire());
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warnings.push(text) };
    const client = await world.connect({ longWaitMs: 10_000, logger });
    const events: LongWaitEvent[] = [];
    client.events.on('long-wait', (event) => events.push(event));
    const waiting = client.lock('a').acquire();
    await world.world.sleep(45_000);
    expect(events.map(({ wait }) => Math.round(wait.waitedMs / 1_000))).toEqual([10, 20, 40]);
    expect(events[0]).toMatchObject({
      sessionId: client.sessionId,
      wait: { lock: 'a', before: 0, holders: [{ session: holder.sessionId }] },
    });
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toMatch(/has waited for lock "a" for 100\d\d ms: held by session \d+ .*; this acquire is next/);
    await world.world.settled(held.release());
    await world.world.settled(waiting);
    await world.world.sleep(60_000);
    expect(events).toHaveLength(3);
  });

  it('is none where longWaitMs is Infinity', async () => {
    const world = await scenario();
    await world.world.settled((await world.connect()).lock('a').acquire());
    const client = await world.connect({ longWaitMs: Number.POSITIVE_INFINITY });
    const waiting = client.lock('a').acquire();
    await world.world.sleep(120_000);
    expect(looks(world)).toBe(0);
    const failed = expect(waiting).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
    await world.world.settled(client.close());
    await failed;
    const error = await world.world.rejection(world.connecting({ longWaitMs: 0 }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
  });
});

describe('a wait whose caller wants to know', () => {
  it('tells at once and once a second who is before, until it has the lock', async () => {
    const world = await scenario();
    const held = await world.world.settled((await world.connect()).lock('a').acquire());
    const first = await world.world.settled((await world.connect()).lock('b').acquire());
    const client = await world.connect();
    const told: number[] = [];
    const earlier = (await world.connect()).lock('a').acquire();
    await world.world.until(() => world.ensemble.queue('a').length === 2);
    const waiting = client.lock('a').acquire({ onWait: ({ before }) => told.push(before) });
    await world.world.sleep(100);
    expect(told).toEqual([1]);
    await world.world.settled(held.release());
    const next = await world.world.settled(earlier);
    await world.world.sleep(2_000);
    expect(told).toEqual([1, 0, 0]);
    await world.world.settled(next.release());
    await world.world.settled(waiting);
    await world.world.sleep(5_000);
    expect(told).toHaveLength(3);
    expect(first.loss).toBeUndefined();
  });

  it('asks the ensemble once a second for all that wait for one lock, and tells each its own place', async () => {
    const world = await scenario();
    await world.world.settled((await world.connect()).lock('a').acquire());
    const client = await world.connect();
    const told = Array.from({ length: 100 }, (): number[] => []);
    const waiting = told.map((mine) =>
      client.lock('a').tryAcquire({ waitMs: 60_000, onWait: ({ before }) => mine.push(before) }),
    );
    await world.world.sleep(3_500);
    expect(told.map((mine) => mine.at(-1))).toEqual(told.map((_, place) => place));
    expect(looks(world)).toBeLessThanOrEqual(5);
    const outcomes = Promise.allSettled(waiting);
    await world.world.settled(client.close());
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('goes on when the caller throws, and refuses what is no function', async () => {
    const world = await scenario();
    await world.world.settled((await world.connect()).lock('a').acquire());
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => void errors.push(text) };
    const client = await world.connect({ logger });
    const onWait = (): never => {
      throw new Error('of the application');
    };
    const error = await world.world.rejection(client.lock('a').acquire({ waitMs: 2_500, onWait }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(errors).toEqual(['onWait threw', 'onWait threw', 'onWait threw']);
    const wrong = { onWait: 5 as unknown as () => void };
    expect(await world.world.rejection(client.lock('a').acquire(wrong))).toBeInstanceOf(InvalidArgumentError);
  });
});
