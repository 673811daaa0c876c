import { describe, expect, it } from 'vitest';
import type { Lock } from '../../src/locks/lock.ts';
import { InvalidArgumentError, LockLostError, TimeoutError } from '../../src/errors.ts';
import type { ClientEventOf } from '../../src/events.ts';
import type { SessionLost } from '../../src/incarnations/session-lost.ts';
import type { LockWait } from '../../src/locks/waits/lock-wait.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

function commands({ ensemble }: Scenario): string[] {
  return ensemble.requests().map(({ command }) => command);
}

describe('several locks at once', () => {
  it('are taken by one request, under one token, and given back by another', async () => {
    const all = await scenario();
    const { world, ensemble, connect } = all;
    const client = await connect();
    const locks = client.locks(['b', 'a', 'c']);
    expect([locks.name, locks.names]).toEqual(['b', ['b', 'a', 'c']]);
    const held = await world.settled(locks.acquire());
    expect([held.lock, held.locks, held.mode, held.permits]).toEqual(['b', ['b', 'a', 'c'], 'exclusive', undefined]);
    expect(['a', 'b', 'c'].map((name) => ensemble.queue(name)[0]?.token)).toEqual([held.token, held.token, held.token]);
    expect(client.status()).toMatchObject({ holds: 1, waits: 0 });
    await world.settled(held.verify());
    await world.settled(held.release());
    expect(['a', 'b', 'c'].flatMap((name) => ensemble.queue(name))).toEqual([]);
    expect(commands(all)).toEqual(['acquireSeveral', 'release']);
  });

  it('are the same request as one lock alone where they are one', async () => {
    const all = await scenario();
    const client = await all.connect();
    const held = await all.world.settled(client.locks(['a']).acquire());
    expect(held.locks).toEqual(['a']);
    expect(commands(all)).toEqual(['acquire']);
  });

  it('are held by nobody while they wait, and granted when all are free', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const a = await world.settled(other.lock('a').acquire());
    const both = client.locks(['a', 'b']).acquire();
    await world.until(() => ensemble.queue('b').length === 1);
    expect(ensemble.queue('b')[0]?.token).toBe(0);
    const attempt = await world.settled(other.lock('b').tryAcquire());
    expect(attempt).toMatchObject({ acquired: false, reason: 'held', holder: { token: 0, session: client.sessionId } });
    const error = await world.rejection(other.lock('b').acquire({ waitMs: 0 }));
    expect((error as Error).message).toBe(
      `lock "b" is kept for session ${client.sessionId}, which waits for another lock, too, and waitMs is 0`,
    );
    const behind = other.lock('b').acquire();
    await world.until(() => ensemble.queue('b').length === 2);
    await world.settled(a.release());
    const held = await world.settled(both);
    expect(ensemble.queue('b')[0]?.token).toBe(held.token);
    await world.settled(held.release());
    expect((await world.settled(behind)).token).toBeGreaterThan(held.token);
  });

  it('never wait for each other in a circle, in whichever order they are named', async () => {
    const { world, connect } = await scenario();
    const clients = [await connect(), await connect(), await connect()];
    const names = [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
    ];
    const rounds = clients.map(async (client, at) => {
      const tokens: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        tokens.push(await client.locks(names[at] ?? []).withLock(({ token }) => token));
      }
      return tokens;
    });
    const tokens = (await world.settled(Promise.all(rounds))).flat();
    expect(new Set(tokens).size).toBe(15);
  });

  it('may be of several kinds, of other clients of the process, and of several themselves', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const inner = client.locks([client.readWriteLock('r').read(), 'm']);
    const all = client.locks([inner, client.semaphore('s', { permits: 5 }).lock({ permits: 2 }), other.lock('o')]);
    expect(all.names).toEqual(['r', 'm', 's', 'o']);
    const held = await world.settled(all.acquire());
    expect([held.mode, held.permits]).toEqual(['shared', undefined]);
    expect(ensemble.queue('s')[0]?.parts.map(({ asked }) => asked)).toEqual([
      { type: 'readWrite', write: false },
      { type: 'mutex' },
      { type: 'semaphore', permits: 2, limit: 5 },
      { type: 'mutex' },
    ]);
    const beside = await world.settled(other.readWriteLock('r').read().tryAcquire());
    expect(beside.acquired).toBe(true);
    const reads = await world.settled(
      client.locks([client.readWriteLock('x').read(), client.readWriteLock('y').read()]).acquire(),
    );
    expect(reads.mode).toBe('read');
  });

  it('are none of them taken when one is not free and there is no wait', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const b = await world.settled(other.lock('b').acquire());
    expect(await world.settled(client.locks(['a', 'b']).tryAcquire())).toMatchObject({
      acquired: false,
      reason: 'held',
      holder: { token: b.token },
    });
    const error = await world.rejection(client.locks(['a', 'b']).acquire({ waitMs: 0 }));
    expect((error as Error).message).toBe(
      `one of locks "a", "b" is held by session ${other.sessionId}, and waitMs is 0`,
    );
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('are left by a wait that is given up: by its limit, its signal, an operator, or the session', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other, third] = [await connect(), await connect(), await connect()];
    await world.settled(other.lock('b').acquire());
    const aborter = new AbortController();
    const reason = new Error('no longer needed');
    const locks = client.locks(['b', 'a']);
    const empty = (): boolean => ensemble.queue('a').length === 0;
    const limited = world.rejection(locks.acquire({ waitMs: 300 }));
    expect(await limited).toBeInstanceOf(TimeoutError);
    await world.until(empty);
    const aborted = world.rejection(locks.acquire({ signal: aborter.signal }));
    await world.until(() => !empty());
    aborter.abort(reason);
    expect(await aborted).toBe(reason);
    await world.until(empty);
    const revoked = world.rejection(locks.acquire());
    await world.until(() => !empty());
    ensemble.revoke(ensemble.queue('a')[0]?.acquireIndex ?? 0);
    expect(await revoked).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', lock: 'b', locks: ['b', 'a'] });
    const expired = world.rejection(locks.acquire());
    await world.until(() => !empty());
    const next = third.lock('a').acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    ensemble.endSession(client.sessionId, 'expired');
    expect(await expired).toMatchObject({ code: 'SESSION_EXPIRED' });
    expect((await world.settled(next)).lock).toBe('a');
  });

  it('are given back when the grant was faster than the cancel', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const b = await world.settled(other.lock('b').acquire());
    const outcome = world.rejection(client.locks(['a', 'b']).acquire({ waitMs: 1_000 }));
    await world.until(() => ensemble.queue('a').length === 1);
    let stopped = true;
    ensemble.server(1).hook = (message) => (stopped && isCommand(message, 'cancel') ? 'ignore' : 'handle');
    expect(await outcome).toBeInstanceOf(TimeoutError);
    await world.settled(b.release());
    expect(ensemble.queue('a')[0]?.token).toBeGreaterThan(0);
    stopped = false;
    ensemble.server(1).disconnectAll();
    await world.until(() => ensemble.queue('a').length === 0 && ensemble.queue('b').length === 0);
  });

  it('are all lost together, and named so', async () => {
    const { world, ensemble, connect } = await scenario();
    const lost: SessionLost[] = [];
    const client = await connect({ onSessionLost: (what) => lost.push(what) });
    const other = await connect();
    await world.settled(other.lock('z').acquire());
    const held = await world.settled(client.locks(['b', 'a']).acquire());
    const second = await world.settled(client.locks(['d', 'c']).acquire());
    const waiting = world.rejection(client.locks(['z', 'y']).acquire());
    await world.until(() => client.status().waits === 1);
    ensemble.revoke(held.acquireIndex);
    await world.until(() => held.signal.aborted);
    expect(held.loss).toMatchObject({ lock: 'b', locks: ['b', 'a'], reason: 'revoked' });
    expect(held.loss?.message).toBe('locks "b", "a" are not held any more: an operator has ended the hold');
    expect(await world.rejection(held.release())).toBeInstanceOf(LockLostError);
    ensemble.endSession(client.sessionId, 'expired');
    await waiting;
    const { token } = second;
    expect(lost).toMatchObject([
      {
        holds: [
          { lock: 'd', token },
          { lock: 'c', token },
        ],
        waits: ['z', 'y'],
      },
    ]);
    expect(lost[0]?.holds).toHaveLength(2);
  });

  it('are found again by a client that attaches anew, granted or revoked meanwhile', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const b = await world.settled(other.lock('b').acquire());
    const waiting = client.locks(['b', 'a']).acquire();
    const kept = await world.settled(client.locks(['d', 'c']).acquire());
    await world.until(() => client.status().waits === 1);
    ensemble.session(client.sessionId).send = undefined;
    await world.settled(b.release());
    ensemble.server(1).disconnectAll();
    const held = await world.settled(waiting);
    expect(held.token).toBe(ensemble.queue('a')[0]?.token);
    kept.assertHeld();
  });

  it('name all of them in the event of a release that was not confirmed', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect({ requestTimeoutMs: 300 });
    const events: ClientEventOf<'release-unconfirmed'>[] = [];
    client.events.on('release-unconfirmed', (event) => events.push(event));
    const held = await world.settled(client.locks(['b', 'a']).acquire());
    ensemble.server(1).hook = (message) => (isCommand(message, 'release') ? 'ignore' : 'handle');
    const error = await world.rejection(held.release());
    expect((error as Error).message).toContain('release locks "b", "a": no answer in time');
    expect(events).toMatchObject([{ lock: 'b', locks: ['b', 'a'], token: held.token }]);
  });
});

describe('a wait for several locks', () => {
  it('says which of them holds it up, who holds that, and how many are before', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other, third] = [await connect(), await connect(), await connect()];
    const a = await world.settled(other.lock('a').acquire());
    const c = await world.settled(other.lock('c').acquire());
    const told: LockWait[] = [];
    const locks = client.locks(['a', 'b', 'c']);
    const waiting = world.rejection(locks.acquire({ waitMs: 4_200, onWait: (wait) => told.push(wait) }));
    await world.until(() => told.length === 1);
    expect(told[0]).toMatchObject({ lock: 'a', locks: ['a', 'b', 'c'], before: 0, holders: [{ token: a.token }] });
    await world.settled(a.release());
    await world.until(() => told.length === 2);
    expect(told[1]).toMatchObject({ lock: 'c', before: 0, holders: [{ token: c.token }] });
    const { message, wait } = (await waiting) as TimeoutError;
    expect(wait).toMatchObject({ lock: 'c', locks: ['a', 'b', 'c'] });
    expect(message).toContain('locks "a", "b", "c": not granted within 4200 ms');
    expect(message).toContain(`; lock "c" is held by session ${other.sessionId} under token ${c.token} since`);
    await world.until(() => ensemble.queue('b').length === 0);

    // Nobody holds b: who is before waits for c, too.
    const first = third.locks(['b', 'c']).acquire();
    await world.until(() => ensemble.queue('b').length === 1);
    const late = (await world.rejection(client.locks(['d', 'b']).acquire({ waitMs: 300 }))) as TimeoutError;
    expect(late.wait).toMatchObject({ lock: 'b', before: 1, holders: [] });
    expect(late.message).toContain(
      'lock "b" is held by nobody, since those before wait for other locks, too; 1 other is before this acquire',
    );
    await world.settled(c.release());
    await world.settled(first);
  });

  it('looks past a lock whose holders are no hindrance', async () => {
    const { world, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    await world.settled(other.readWriteLock('r').read().acquire());
    await world.settled(other.semaphore('s', { permits: 3 }).acquire());
    const m = await world.settled(other.lock('m').acquire());
    const permit = client.semaphore('s', { permits: 3 }).lock({ permits: 2 });
    const locks = client.locks([client.readWriteLock('r').read(), permit, 'm']);
    const { wait } = (await world.rejection(locks.acquire({ waitMs: 300 }))) as TimeoutError;
    expect(wait).toMatchObject({ lock: 'm', holders: [{ token: m.token }] });
    const more = client.locks(['x', client.semaphore('s', { permits: 3 }).lock({ permits: 3 })]);
    expect(((await world.rejection(more.acquire({ waitMs: 300 }))) as TimeoutError).wait).toMatchObject({ lock: 's' });
  });

  it('is an event with all names when it takes long', async () => {
    const { world, connect } = await scenario();
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warnings.push(text) };
    const client = await connect({ longWaitMs: 1_000, logger });
    const other = await connect();
    await world.settled(other.lock('b').acquire());
    const waits: LockWait[] = [];
    client.events.on('long-wait', ({ wait }) => waits.push(wait));
    await world.rejection(client.locks(['a', 'b']).acquire({ waitMs: 1_500 }));
    expect(waits).toMatchObject([{ lock: 'b', locks: ['a', 'b'] }]);
    expect(warnings[0]).toMatch(/an acquire has waited for locks "a", "b" for 10\d\d ms: lock "b" is held by session/);
  });
});

describe('the watch of several locks', () => {
  it('tells what happens at each of them, until it is left or its signal aborts', async () => {
    const { world, ensemble, connect } = await scenario();
    ensemble.showsQueues = true;
    const [client, other] = [await connect(), await connect()];
    const b = await world.settled(other.lock('b').acquire());
    const events: string[] = [];
    const reason = new Error('enough');
    const aborter = new AbortController();
    const watch = async (signal?: AbortSignal): Promise<void> => {
      const locks = client.locks(['a', 'b']);
      for await (const event of locks.watch(signal === undefined ? {} : { signal })) {
        events.push(`${event.type} ${event.lock} ${event.holders.length} ${event.waiters} ${event.before ?? '-'}`);
        if (event.type === 'released' && event.lock === 'a') return;
      }
    };
    const loop = watch();
    await world.until(() => events.length === 2);
    expect(events.splice(0).toSorted()).toEqual(['state a 0 0 -', 'state b 1 0 -']);
    const waiting = client.locks(['a', 'b']).acquire();
    await world.until(() => events.length === 2);
    // Nobody holds a, and it waits there all the same.
    expect(events.splice(0).toSorted()).toEqual(['waiting a 0 1 0', 'waiting b 1 1 1']);
    await world.settled(b.release());
    const held = await world.settled(waiting);
    await world.until(() => events.length === 3);
    expect(events.splice(0).toSorted()).toEqual(['granted a 1 0 0', 'granted b 1 0 0', 'released b 0 1 0']);
    await world.settled(held.release());
    await world.settled(loop);
    await world.until(() => ensemble.server(1).watches === 0);

    const aborted = world.rejection(watch(aborter.signal));
    await world.until(() => ensemble.server(1).watches === 2);
    aborter.abort(reason);
    expect(await aborted).toBe(reason);
    await world.until(() => ensemble.server(1).watches === 0);
    expect(await world.rejection(watch(AbortSignal.abort(reason)))).toBe(reason);
  });
});

describe('a list of locks that cannot be', () => {
  it('is refused before anything is sent, with what is wrong', async () => {
    const all = await scenario();
    const client = await all.connect();
    const wrong = (locks: unknown) => () => client.locks(locks as readonly (string | Lock)[]);
    for (const [locks, text] of [
      [[], 'locks was given an empty list; it takes at least one lock'],
      ['a', 'locks takes a list of names, or of locks of a client'],
      [undefined, 'locks takes a list of names, or of locks of a client'],
      [['a', 'b', 'a'], 'locks was given lock "a" twice; name each lock once'],
      [['a', client.readWriteLock('a').read()], 'locks was given lock "a" twice; name each lock once'],
      [[client.locks(['a', 'b']), 'b'], 'locks was given lock "b" twice; name each lock once'],
      [Array.from({ length: 65 }, (_, at) => `l${at}`), 'locks was given 65 locks; it takes at most 64 at once'],
      [['a', ''], 'lock name "" is empty'],
      [['a', 7], 'a reentrant lock and number are none'],
      [[client.lock('a', { reentrant: true })], 'a reentrant lock and object are none'],
    ] as const) {
      expect(wrong(locks)).toThrow(InvalidArgumentError);
      expect(wrong(locks)).toThrow(text);
    }
    expect(client.locks(Array.from({ length: 64 }, (_, at) => `l${at}`)).names).toHaveLength(64);
    expect(commands(all)).toEqual([]);
  });

  it('is refused by an ensemble that cannot take several yet, with what to do', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.onlyMutexes = true;
    const error = await world.rejection(client.locks(['a', 'b']).acquire());
    expect(error).toMatchObject({ code: 'UNSUPPORTED' });
    expect((error as Error).message).toContain(
      'acquire locks "a", "b" at once: this ensemble has no acquires of several locks at once yet',
    );
    await world.settled(client.locks(['a']).acquire());
  });
});
