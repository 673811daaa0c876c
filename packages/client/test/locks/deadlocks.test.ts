import type { DeadlockStep } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { DeadlockError, InvalidArgumentError, TimeoutError } from '../../src/errors.ts';
import type { LongWaitEvent } from '../../src/events.ts';
import type { LockWait } from '../../src/locks/waits/lock-wait.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

const CYCLE: readonly DeadlockStep[] = [
  { session: 7, label: '', holds: 'a', token: 3, waitsFor: 'b', acquireIndex: 9, since: 1, behind: 0 },
  { session: 8, label: 'worker', holds: 'b', token: 4, waitsFor: 'a', acquireIndex: 8, since: 1, behind: 5 },
];
const IN_WORDS =
  'deadlock: session 7 holds "a" and waits for "b", session 8 "worker" holds "b" and waits for "a" behind acquire 5';

function commands({ ensemble }: Scenario): string[] {
  return ensemble.requests().map(({ command }) => command);
}

/** How often any server was asked for the deadlock of a wait. */
function questions({ ensemble }: Scenario): number {
  return ensemble.received.filter(({ message }) => message.type === 'read' && message.query.type === 'waitingFor')
    .length;
}

describe('a lock with deadlockPolicy abort-youngest', () => {
  it('is asked for with that, of whichever kind it is, and otherwise as ever', async () => {
    const all = await scenario();
    const { world, connect } = all;
    const client = await connect();
    const policy = { deadlockPolicy: 'abort-youngest' } as const;
    const locks = [
      client.lock('a', policy),
      client.lock('b', { reentrant: true, ...policy }),
      client.readWriteLock('c', policy).read(),
      client.readWriteLock('d', policy).write(),
      client.semaphore('e', { permits: 2, ...policy }),
      client.locks(['f', 'g'], policy),
      client.locks([client.lock('h', policy), 'i']),
    ];
    for (const lock of locks) await world.settled(lock.acquire());
    expect(commands(all)).toEqual(locks.map(() => 'acquireWith'));
    await world.settled(client.lock('k', { deadlockPolicy: 'wait' }).acquire());
    expect(commands(all).at(-1)).toBe('acquire');
  });

  it('rejects with DeadlockError where its acquire would have closed one', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.deadlock = CYCLE;
    const error = await world.rejection(client.lock('b', { deadlockPolicy: 'abort-youngest' }).acquire());
    expect(error).toBeInstanceOf(DeadlockError);
    expect(error).toMatchObject({ code: 'DEADLOCK', retryable: true, indeterminate: false, lock: 'b', cycle: CYCLE });
    expect((error as Error).message).toBe(
      `the wait for lock "b" has ended: ${IN_WORDS}; give back what you hold, and take the locks again from the first one on`,
    );
    expect(client.status()).toMatchObject({ holds: 0, waits: 0 });
  });

  it('rejects with it where another closes one, while what the client holds stays', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const a = await world.settled(client.lock('a').acquire());
    await world.settled(other.lock('b').acquire());
    const waiting = client.locks(['c', 'b'], { deadlockPolicy: 'abort-youngest' }).acquire();
    await world.until(() => ensemble.queue('b').length === 2);
    ensemble.breakDeadlock(ensemble.queue('b')[1]?.acquireIndex ?? 0, CYCLE);
    const error = await world.rejection(waiting);
    expect(error).toMatchObject({ code: 'DEADLOCK', lock: 'c', locks: ['c', 'b'], cycle: CYCLE });
    expect(a.loss).toBeUndefined();
  });

  it('ends the wait of everybody who enters a reentrant lock', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    await world.settled(other.lock('a').acquire());
    const lock = client.lock('a', { reentrant: true, deadlockPolicy: 'abort-youngest' });
    const waits = [lock.acquire(), lock.acquire()];
    await world.until(() => ensemble.queue('a').length === 2);
    ensemble.breakDeadlock(ensemble.queue('a')[1]?.acquireIndex ?? 0, CYCLE);
    const errors = await Promise.all(waits.map((wait) => world.rejection(wait)));
    for (const error of errors) expect(error).toBeInstanceOf(DeadlockError);
  });

  it('needs servers that know it, and says so', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.onlyMutexes = true;
    const acquire = client.locks(['a', 'b'], { deadlockPolicy: 'abort-youngest' }).acquire();
    const error = await world.rejection(acquire);
    expect(error).toMatchObject({ code: 'UNSUPPORTED' });
    expect((error as Error).message).toContain('this ensemble has no acquires that end in a deadlock yet');
    expect((error as Error).message).toContain('state version 5');
  });

  it('is no other policy than there are', async () => {
    const client = await (await scenario()).connect();
    const wrong = { deadlockPolicy: 'abort' as 'wait' };
    for (const make of [
      () => client.lock('a', wrong),
      () => client.readWriteLock('a', wrong),
      () => client.semaphore('a', { permits: 1, ...wrong }),
      () => client.locks(['a'], wrong),
    ]) {
      expect(make).toThrow(InvalidArgumentError);
      expect(make).toThrow('deadlockPolicy is "abort"; it must be "wait" or "abort-youngest"');
    }
  });
});

describe('a wait of a client that holds something', () => {
  it('tells the deadlock that it is in, to who wants to know, with its timeout, and when it takes long', async () => {
    const { world, ensemble, connect } = await scenario();
    await world.settled((await connect()).lock('b').acquire());
    const client = await connect({ longWaitMs: 1_000 });
    await world.settled(client.lock('a').acquire());
    ensemble.deadlock = CYCLE;
    const events: LongWaitEvent[] = [];
    client.events.on('long-wait', (event) => events.push(event));
    const told: LockWait[] = [];
    const waiting = client.lock('b').acquire({ waitMs: 3_000, onWait: (wait) => told.push(wait) });
    const error = await world.rejection(waiting);
    expect(told[0]).toMatchObject({ lock: 'b', cycle: CYCLE });
    expect(events[0]?.wait.cycle).toEqual(CYCLE);
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as TimeoutError).wait?.cycle).toEqual(CYCLE);
    expect((error as Error).message).toContain(IN_WORDS);
  });

  it('does not ask servers that do not know of deadlocks', async () => {
    const all = await scenario();
    const { world, ensemble, connect } = all;
    for (const server of ensemble.servers) server.features = 0;
    await world.settled((await connect()).lock('b').acquire());
    const client = await connect();
    await world.settled(client.lock('a').acquire());
    ensemble.deadlock = CYCLE;
    const error = await world.rejection(client.lock('b').acquire({ waitMs: 2_000 }));
    expect((error as TimeoutError).wait).toMatchObject({ before: 0, cycle: [] });
    expect(questions(all)).toBe(0);
  });
});

describe('a wait of a client that holds nothing', () => {
  it('asks for no deadlock before it has lasted long, since nobody waits for what it has', async () => {
    const all = await scenario();
    const { world, ensemble, connect } = all;
    await world.settled((await connect()).lock('b').acquire());
    const client = await connect();
    ensemble.deadlock = CYCLE;
    const error = await world.rejection(client.lock('b').acquire({ waitMs: 2_000 }));
    expect((error as TimeoutError).wait).toMatchObject({ before: 0, cycle: [] });
    expect(questions(all)).toBe(0);
  });
});

describe('the deadlocks of an ensemble', () => {
  it('are listed page by page, with how many waits were passed over', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.deadlock = CYCLE;
    const skipped: number[] = [];
    const list = async (): Promise<unknown[]> => {
      const all = [];
      for await (const each of client.admin.deadlocks({ onSkipped: (waits) => skipped.push(waits) })) all.push(each);
      return all;
    };
    expect(await world.settled(list())).toEqual([{ steps: CYCLE }]);
    expect(skipped).toEqual([2]);
    for (const server of ensemble.servers) server.features = 0;
    const old = await connect();
    expect(await world.rejection(old.admin.deadlocks().next())).toMatchObject({ code: 'UNSUPPORTED' });
  });
});
