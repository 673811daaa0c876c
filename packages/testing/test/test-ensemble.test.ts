import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  connect,
  create,
  InvalidArgumentError,
  LockLostError,
  SessionExpiredError,
  TimeoutError,
} from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { testEnsemble, type TestEnsemble } from '../src/index.ts';

let ensemble: TestEnsemble;

beforeEach(async () => {
  ensemble = await testEnsemble();
});

afterEach(async () => {
  vi.useRealTimers();
  await ensemble.close();
});

describe('an ensemble for tests', () => {
  it('gives a lock to one client after another, with tokens that rise', async () => {
    const [first, second] = [await ensemble.connect(), await ensemble.connect()];
    const held = await first.lock('jobs').acquire();
    const waiting = second.lock('jobs').acquire();
    await held.release();
    const next = await waiting;
    expect(next.token).toBeGreaterThan(held.token);
    next.assertHeld();
  });

  it('keeps nodes, watches and transactions as a real one does', async () => {
    const client = await ensemble.connect();
    const abort = new AbortController();
    const seen = (async () => {
      for await (const event of client.nodes.watch('/config', { signal: abort.signal })) return event.type;
      return undefined;
    })();
    await client.nodes.exists('/config');
    await client.nodes.create('/config', 'a');
    await expect(seen).resolves.toBe('created');
    const { data } = await client.nodes.get('/config');
    expect(Buffer.from(data).toString()).toBe('a');
  });

  it.each([1, 3])('of %i servers can at once do all that this version can', async (servers) => {
    const other = await testEnsemble({ servers });
    const client = await other.connect();
    const permits = client.semaphore('imports', { permits: 2 }).lock();
    const held = await client.locks(['a', client.readWriteLock('b').read(), permits]).acquire();
    expect(held.locks).toEqual(['a', 'b', 'imports']);
    await client.nodes.transaction([create('/jobs'), create('/jobs/1', 'work')]);
    expect((await client.nodes.children('/jobs')).names).toEqual(['1']);
    await other.close();
  });

  it('can do so still when a server has read its data again', async () => {
    const other = await testEnsemble({ servers: 1 });
    const client = await other.connect();
    const held = await client.semaphore('imports', { permits: 2 }).acquire();
    other.kill(1);
    await other.restart(1);
    await other.advance('5s');
    await held.release();
    await client.nodes.transaction([create('/jobs')]);
    await other.close();
  });

  it('opens no socket and no file', async () => {
    const descriptors = (): string[] => readdirSync('/proc/self/fd');
    if (process.platform !== 'linux') return;
    const before = descriptors().length;
    const other = await testEnsemble({ servers: 5 });
    await (await other.connect()).lock('a').acquire();
    expect(descriptors().length).toBe(before);
    await other.close();
  });

  it('lives beside another one, each with its own locks', async () => {
    const other = await testEnsemble({ servers: 1 });
    const clients = await Promise.all([ensemble.connect(), other.connect()]);
    const holds = await Promise.all(clients.map((client) => client.lock('jobs').acquire({ waitMs: 5_000 })));
    for (const held of holds) held.assertHeld();
    await other.close();
  });

  it('lets the code under test use real time and files in the midst of a call', async () => {
    const client = await ensemble.connect();
    const text = await client.lock('jobs').withLock(async () => {
      const before = Date.now();
      await new Promise((resolve) => setTimeout(resolve, 2));
      expect(Math.random()).toBeLessThan(1);
      expect(Date.now()).toBeGreaterThan(before);
      return readFileSync(join(import.meta.dirname, '../package.json'), 'utf8');
    });
    expect(text).toContain('@holdfast/testing');
  });

  it('goes on while a test runner fakes the timers', async () => {
    vi.useFakeTimers();
    const client = await ensemble.connect();
    const held = await client.lock('jobs').acquire();
    await ensemble.advance('1s');
    held.assertHeld();
  });

  it('refuses what cannot be, and says what can', async () => {
    await expect(testEnsemble({ servers: 0 })).rejects.toThrow('servers is 0; it must be a whole number from 1 to 7');
    await expect(testEnsemble({ server: 3 } as never)).rejects.toThrow(
      'testEnsemble has no option server; it has servers',
    );
    await expect(ensemble.expire(4711)).rejects.toThrow('the ensemble has no session 4711');
    expect(() => ensemble.kill(9)).toThrow('there is no server 9; the servers are 1, 2, 3');
    await expect(ensemble.restart(1)).rejects.toThrow('server 1 runs already');
    await expect(ensemble.advance('soon' as never)).rejects.toBeInstanceOf(InvalidArgumentError);
    const stranger = await testEnsemble({ servers: 1 });
    const client = await stranger.connect();
    expect(() => ensemble.partition(client)).toThrow('the client is not of this ensemble');
    await stranger.close();
    await expect(stranger.connect()).rejects.toThrow('the test ensemble is closed');
  });

  it('is reached by nobody from outside', async () => {
    await expect(connect({ servers: ensemble.servers, connectTimeoutMs: 200 })).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
    });
  });
});

describe('the clock of an ensemble for tests', () => {
  it('runs by itself', async () => {
    const client = await ensemble.connect();
    await client.lock('jobs').acquire();
    await expect(client.lock('jobs').acquire({ waitMs: 20 })).rejects.toBeInstanceOf(TimeoutError);
  });

  it('is turned forward without waiting, and ends what was to end then', async () => {
    const client = await ensemble.connect();
    const held = await client.lock('jobs').acquire();
    const waiting = client.lock('jobs').acquire({ waitMs: 120_000 });
    const refused = expect(waiting).rejects.toBeInstanceOf(TimeoutError);
    await ensemble.advance('2m');
    await refused;
    // It has renewed its session all the while.
    held.assertHeld();
    expect(client.state).toBe('connected');
  });

  it('is turned by several at once, one after another', async () => {
    const client = await ensemble.connect();
    const held = await client.lock('jobs').acquire();
    ensemble.partition(client);
    await Promise.all([ensemble.advance('3s'), ensemble.advance(3_000)]);
    const left = held.remainingMs();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(4_500);
  });
});

describe('a session that is made to expire', () => {
  it('loses its locks to the next in line, and its client knows at once', async () => {
    const [first, second] = [await ensemble.connect(), await ensemble.connect()];
    const held = await first.lock('jobs').acquire();
    const waiting = second.lock('jobs').acquire();
    await ensemble.expire(first);
    expect(held.signal.aborted).toBe(true);
    expect(held.loss).toMatchObject({ reason: 'expired' });
    expect(first.state).toBe('expired');
    await expect(first.nodes.exists('/a')).rejects.toBeInstanceOf(SessionExpiredError);
    expect((await waiting).token).toBeGreaterThan(held.token);
  });

  it('is known to its client where there is one server, too', async () => {
    const small = await testEnsemble({ servers: 1 });
    const client = await small.connect();
    const held = await client.lock('jobs').acquire();
    await small.expire(client);
    expect(held.loss).toMatchObject({ reason: 'expired' });
    await small.close();
  });

  it('ends by its number as well', async () => {
    const client = await ensemble.connect();
    await ensemble.expire(client.sessionId);
    expect(client.state).toBe('expired');
  });

  it('is believed in until its deadline by a client that is cut off, and no longer', async () => {
    const [first, second] = [await ensemble.connect({ sessionTimeoutMs: 5_000 }), await ensemble.connect()];
    const held = await first.lock('jobs').acquire();
    ensemble.partition(first);
    await ensemble.expire(first);
    const next = await second.lock('jobs').acquire();
    held.assertHeld(); // wrong by now: the resource must refuse its token
    expect(next.token).toBeGreaterThan(held.token);
    await ensemble.advance('5s');
    expect(() => held.assertHeld()).toThrow(LockLostError);
    ensemble.heal(first);
    await ensemble.advance('5s');
    expect(first.state).toBe('expired');
  });
});

describe('a client that is partitioned', () => {
  it('is suspended, loses its hold at the deadline before another is granted it, and comes back', async () => {
    const [first, second] = [await ensemble.connect(), await ensemble.connect()];
    const held = await first.lock('jobs').acquire();
    let lostFirst: boolean | undefined;
    const next = second
      .lock('jobs')
      .acquire()
      .then(() => {
        lostFirst = held.loss !== undefined;
      });
    ensemble.partition(first);
    await ensemble.advance('6s');
    expect(first.state).toBe('suspended');
    await ensemble.advance('5s');
    await next;
    expect(lostFirst).toBe(true);
    ensemble.heal();
    await ensemble.advance('10s');
    expect(first.state).toBe('expired');
  });
});

describe('a server that is killed', () => {
  it('is replaced by another leader, and no call is lost', async () => {
    const client = await ensemble.connect();
    const held = await client.lock('jobs').acquire();
    const before = ensemble.leader;
    ensemble.kill();
    await client.nodes.create('/after');
    expect(ensemble.leader).not.toBe(before);
    held.assertHeld();
    await held.verify();
    await ensemble.restart(before);
    ensemble.kill();
    await ensemble.advance('3s');
    await held.verify();
  });
});
