import { getEventListeners } from 'node:events';
import { MAX_REQUESTS_IN_FLIGHT } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import {
  ClientClosedError,
  LockLostError,
  OverloadedError,
  SessionExpiredError,
  TimeoutError,
} from '../../src/errors.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario } from '../support/scenario.ts';

describe('calls under one signal', () => {
  it('make one listener of it, however many there are, and leave none', async () => {
    const { world, ensemble, connect } = await scenario();
    const stop = new AbortController();
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    const { signal } = stop;
    const listeners = (): number => getEventListeners(signal, 'abort').length;
    const client = await connect({ signal });
    expect(listeners()).toBe(0);
    const held = await world.settled(client.lock('busy').acquire({ signal }));
    const done = Promise.all([
      ...Array.from({ length: 20 }, (_, n) => client.lock(`l${n}`).withLock(() => undefined, { signal })),
      ...Array.from({ length: 20 }, (_, n) => client.nodes.create(`/n${n}`, '', { signal })),
      ...Array.from({ length: 20 }, () => client.nodes.exists('/n', { signal })),
      client.admin.transferLeadership(0, { signal }),
    ]);
    expect(listeners()).toBe(1);
    await world.settled(done);
    expect(listeners()).toBe(0);
    const waits = Array.from({ length: 20 }, () => client.lock('busy').acquire({ signal }));
    await world.until(() => client.status().waits === 20);
    expect(listeners()).toBe(1);
    stop.abort(new Error('shutdown'));
    const outcomes = await world.settled(Promise.allSettled(waits));
    expect(new Set(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason))).toEqual(
      new Set([signal.reason]),
    );
    expect(listeners()).toBe(0);
    held.assertHeld();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    expect(warnings).toEqual([]);
    expect(ensemble.requests().length).toBeGreaterThan(60);
  });
});

describe('thousands of calls', () => {
  it('share one timer for their limits, and leave nothing when they have ended', async () => {
    const { world, host, connect } = await scenario();
    const client = await connect();
    await world.settled(client.nodes.create('/n'));
    const idle = host.timers;
    for (let round = 0; round < 5; round += 1) {
      const calls = Array.from({ length: 500 }, async (_, n) => {
        const { signal } = new AbortController();
        await client.nodes.set('/n', `${n}`, { timeoutMs: 1_000 + n, signal });
        await client.lock(`l${n}`).withLock(() => undefined, { waitMs: 60_000 + n, signal });
        await client
          .lock(`l${n}`)
          .tryAcquire({ signal })
          .then(async (it) => (it.acquired ? it.held.release() : undefined));
      });
      expect(host.timers).toBeLessThanOrEqual(idle + 2);
      await world.settled(Promise.all(calls));
      expect(host.timers).toBeLessThanOrEqual(idle + 2);
    }
    await world.settled(client.close());
    await world.sleep(10);
    expect(host.timers).toBe(0);
  });
});

describe('requests', () => {
  it('are numbered from 1 without gaps, and acknowledge the answers that have come', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    for (let round = 0; round < 5; round += 1) await world.settled(client.lock('a').withLock(() => undefined));
    expect(ensemble.requests().map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(ensemble.requests().map(({ ackedUpTo }) => ackedUpTo)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('beyond the window wait for answers, in order, and the window counts from the oldest unanswered one', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).hook = (message) => (message.type === 'request' && message.number === 1 ? 'apply' : 'handle');
    const total = MAX_REQUESTS_IN_FLIGHT + 500;
    const locks = Array.from({ length: total }, (_, n) => client.lock(`l${n}`).acquire());
    await world.until(() => ensemble.requests().length >= MAX_REQUESTS_IN_FLIGHT);
    await world.sleep(100);
    expect(Math.max(...ensemble.requests().map(({ number }) => number))).toBe(MAX_REQUESTS_IN_FLIGHT);
    expect(client.status()).toMatchObject({ unanswered: 1, queued: 500 });
    ensemble.server(1).hook = () => 'handle';
    ensemble.server(1).disconnectAll();
    await world.settled(Promise.all(locks));
    expect(ensemble.applied.map(({ number }) => number)).toEqual(Array.from({ length: total }, (_, n) => n + 1));
  });

  it('are refused when too many wait already', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect({ maxQueuedRequests: 2 });
    for (const server of ensemble.servers) server.host.paused = true;
    await world.until(() => client.state === 'suspended');
    const waiting = [client.nodes.create('/1'), client.nodes.create('/2')];
    expect(await world.rejection(client.nodes.create('/3'))).toBeInstanceOf(OverloadedError);
    for (const server of ensemble.servers) server.host.paused = false;
    await world.settled(Promise.all(waiting));
    expect([...ensemble.nodes.keys()]).toEqual(['/1', '/2']);
  });

  it('that a server refuses are sent again, all from that number on, before any new one', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    let refused = 0;
    ensemble.server(1).hook = (message) => {
      if (message.type !== 'request' || message.number < 2 || refused >= 3) return 'handle';
      refused += 1;
      if (refused === 3) ensemble.server(1).broadcast({ type: 'resend', from: 2, code: 'LEADER_CHANGED' });
      return 'ignore';
    };
    const writes = Promise.all(['/1', '/2', '/3', '/4'].map((path) => client.nodes.create(path)));
    await world.until(() => refused === 3);
    // The refusal has arrived here, and what it refused is not yet sent again.
    await world.sleep(1);
    const later = client.nodes.create('/5');
    await world.settled(Promise.all([writes, later]));
    expect(ensemble.applied.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    expect(ensemble.requests().map(({ number }) => number)).toEqual([1, 2, 3, 4, 2, 3, 4, 5]);
  });

  it('fill a gap that a server complains of', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    let dropped = false;
    ensemble.server(1).hook = (message) => {
      if (message.type !== 'request' || message.number !== 1 || dropped) return 'handle';
      dropped = true;
      return 'ignore';
    };
    await world.settled(Promise.all(['/1', '/2', '/3'].map((path) => client.nodes.create(path))));
    expect(ensemble.applied.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(ensemble.requests().length).toBeLessThan(12);
  });

  it('have one outcome: given up by the caller, they are still carried to their answer', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).hook = (message) => (message.type === 'request' ? 'ignore' : 'handle');
    const error = await world.rejection(client.nodes.create('/n', '', { timeoutMs: 300 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ indeterminate: true, retryable: true });
    ensemble.server(1).disconnectAll();
    ensemble.server(1).hook = () => 'handle';
    await world.until(() => ensemble.nodes.has('/n'));
    await world.until(() => client.status().unanswered === 0);
    await world.settled(client.nodes.create('/m'));
  });

  it('are definitely not done when they time out before they could be sent', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    for (const server of ensemble.servers) server.host.crash();
    await world.until(() => client.state === 'suspended');
    expect(await world.rejection(client.nodes.create('/n', '', { timeoutMs: 300 }))).toMatchObject({
      code: 'TIMEOUT',
      indeterminate: false,
    });
  });
});

describe('reads', () => {
  it('are asked again while a server cannot answer, until their limit', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    await world.settled(client.nodes.create('/n', 'x'));
    const real = ensemble.query.bind(ensemble);
    let refusals = 5;
    ensemble.query = (query) => {
      if (refusals === 0) return real(query);
      refusals -= 1;
      return { type: 'error', code: 'NO_LEADER', message: 'no leader' };
    };
    expect((await world.settled(client.nodes.get('/n'))).stat.dataLength).toBe(1);
    refusals = Number.POSITIVE_INFINITY;
    const before = world.nowMs;
    expect(await world.rejection(client.nodes.get('/n'))).toMatchObject({ code: 'TIMEOUT', indeterminate: false });
    expect(world.nowMs - before).toBeGreaterThanOrEqual(10_000);
  });

  it('of consistency `session` name the highest index that this client has seen', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    await world.settled(client.nodes.create('/n', 'x'));
    const seen = ensemble.index;
    await world.settled(client.nodes.get('/n', { consistency: 'session' }));
    const read = ensemble.received.findLast(({ message }) => message.type === 'read')?.message;
    expect(read).toMatchObject({ consistency: 'session', minIndex: seen });
  });
});

describe('a session that the ensemble has ended', () => {
  it('is over at once: holds, waits, requests, and every later call', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const waiting = world.rejection(client.lock('a').acquire());
    await world.until(() => ensemble.queue('a').length === 2);
    const states: string[] = [];
    client.events.on('expired', (event) => states.push(event.type));
    ensemble.endSession(client.sessionId, 'expired');
    expect(await waiting).toBeInstanceOf(SessionExpiredError);
    expect(held.loss).toMatchObject({ reason: 'expired' });
    expect(held.signal.aborted).toBe(true);
    expect(states).toEqual(['expired']);
    expect(await world.rejection(client.nodes.get('/n'))).toBeInstanceOf(SessionExpiredError);
    expect(await world.rejection(client.lock('b').acquire())).toBeInstanceOf(SessionExpiredError);
    expect(await world.rejection(held.release())).toBeInstanceOf(LockLostError);
    await world.settled(client.close());
    expect(client.state).toBe('expired');
  });

  it('is not replaced by a new one, and nothing of it stays behind here', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const client = await connect();
    await world.settled(client.lock('a').acquire());
    ensemble.endSession(client.sessionId, 'expired');
    await world.until(() => client.state === 'expired');
    await world.sleep(30_000);
    expect(ensemble.count('attach')).toBe(1);
    expect(host.timers).toBe(0);
    expect(host.connections.size).toBe(0);
  });

  it('is told of at the next attach when it ended while the client was away', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.server(1).hook = (message) => (message.type === 'request' ? 'ignore' : 'handle');
    const sent = world.rejection(client.nodes.create('/sent'));
    await world.until(() => ensemble.requests().length === 2);
    ensemble.session(client.sessionId).send = undefined;
    ensemble.endSession(client.sessionId, 'expired');
    ensemble.server(1).disconnectAll();
    expect(await sent).toMatchObject({ code: 'SESSION_EXPIRED', indeterminate: true });
    expect(client.state).toBe('expired');
    expect(held.loss).toMatchObject({ reason: 'expired' });
  });

  it('by an operator says so', async () => {
    const { world, ensemble, connect } = await scenario();
    const operator = await connect();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    await world.settled(operator.admin.closeSession(client.sessionId));
    await world.until(() => client.state === 'expired');
    expect(held.loss).toMatchObject({ reason: 'revoked' });
    expect(ensemble.sessions.has(operator.sessionId)).toBe(true);
  });
});

describe('close', () => {
  it('ends the session, its holds and its waits, and leaves nothing running', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const client = await connect();
    const states: string[] = [];
    client.events.on('closed', (event) => states.push(event.type));
    const held = await world.settled(client.lock('a').acquire());
    const waiting = world.rejection(client.lock('a').acquire());
    await world.until(() => ensemble.queue('a').length === 2);
    const closed = client.close();
    expect(held.loss).toMatchObject({ reason: 'closed' });
    expect(client.close()).toBe(closed);
    await world.settled(closed);
    expect(await waiting).toBeInstanceOf(ClientClosedError);
    await world.until(() => ensemble.sessions.size === 0);
    expect(ensemble.queue('a')).toEqual([]);
    expect(states).toEqual(['closed']);
    expect(client.state).toBe('closed');
    await world.sleep(10);
    expect(host.timers).toBe(0);
    expect(host.connections.size).toBe(0);
    expect(await world.rejection(client.lock('b').acquire())).toBeInstanceOf(ClientClosedError);
  });

  it('waits for what is under way first, and ends the session last', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const write = client.nodes.create('/n');
    const closed = client.close();
    await world.settled(write);
    await world.settled(closed);
    expect(ensemble.applied.map(({ command }) => command.type)).toEqual(['create', 'closeSession']);
  });

  it('awaits the cancel of a wait that was given up', async () => {
    const { world, ensemble, connect } = await scenario();
    const holder = await connect();
    const client = await connect();
    const held = await world.settled(holder.lock('a').acquire());
    ensemble.server(1).hook = (message) => (isCommand(message, 'acquire') ? 'apply' : 'handle');
    await world.rejection(client.lock('a').acquire({ waitMs: 100 }));
    const closed = client.close();
    await world.sleep(50);
    ensemble.server(1).hook = () => 'handle';
    ensemble.server(1).disconnectAll();
    await world.settled(closed);
    await world.until(() => ensemble.queue('a').length === 1);
    await world.settled(held.verify());
  });

  it('refuses every new call from the moment on', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const closed = client.close();
    const late = world.rejection(client.nodes.create('/late'));
    expect(await late).toMatchObject({ code: 'CLIENT_CLOSED', indeterminate: false, retryable: false });
    await world.settled(closed);
    expect(ensemble.nodes.size).toBe(0);
  });

  it('does not hand out a grant that comes while it closes', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const acquire = world.rejection(client.lock('a').acquire());
    const closed = client.close();
    expect(await acquire).toBeInstanceOf(ClientClosedError);
    await world.settled(closed);
    await world.until(() => ensemble.queue('a').length === 0);
  });

  it('is no expiry: what it ends is closed, and says whether it may have taken effect', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect({ closeTimeoutMs: 200 });
    const expiries: string[] = [];
    client.events.on('expired', (event) => expiries.push(event.reason));
    for (const server of ensemble.servers) server.hook = () => 'ignore';
    const sent = world.rejection(client.nodes.create('/sent'));
    const read = world.rejection(client.nodes.exists('/sent'));
    const admin = world.rejection(client.admin.transferLeadership());
    await world.until(() => client.status().unanswered === 1);
    await world.settled(client.close());
    const errors = await Promise.all([sent, read, admin]);
    expect(errors).toMatchObject([
      { code: 'CLIENT_CLOSED', indeterminate: true },
      { code: 'CLIENT_CLOSED', indeterminate: false },
      { code: 'CLIENT_CLOSED' },
    ]);
    for (const error of errors) {
      expect(error).toBeInstanceOf(ClientClosedError);
      expect(error).not.toBeInstanceOf(SessionExpiredError);
      expect((error as Error).message).toContain('closed');
    }
    for (const late of [
      async () => await client.nodes.get('/x'),
      async () => await client.lock('l').tryAcquire(),
      async () => await client.admin.transferLeadership(),
    ]) {
      expect(await world.rejection(late())).toBeInstanceOf(ClientClosedError);
    }
    expect(expiries).toEqual([]);
  });

  it('is no expiry when its answer is lost with the connection, and the session with it', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const states: string[] = [];
    for (const type of ['expired', 'closed'] as const) client.events.on(type, (event) => states.push(event.type));
    ensemble.server(1).hook = (message) => (isCommand(message, 'closeSession') ? 'apply' : 'handle');
    const closed = client.close();
    await world.until(() => ensemble.sessions.size === 0);
    ensemble.server(1).disconnectAll();
    await world.settled(closed);
    expect(client.state).toBe('closed');
    expect(states).toEqual(['closed']);
    expect(await world.rejection(client.nodes.get('/x'))).toBeInstanceOf(ClientClosedError);
  });

  it('gives up after its own limit when no server answers', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const client = await connect({ closeTimeoutMs: 2_000 });
    await world.settled(client.lock('a').acquire());
    for (const server of ensemble.servers) server.host.paused = true;
    const before = world.nowMs;
    await world.settled(client.close());
    expect(world.nowMs - before).toBeLessThanOrEqual(2_010);
    expect(client.state).toBe('closed');
    await world.sleep(5_000);
    expect(host.timers).toBe(0);
  });

  it('is what the end of an `await using` block does', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    await world.settled(client[Symbol.asyncDispose]());
    expect(client.state).toBe('closed');
    await world.until(() => ensemble.sessions.size === 0);
  });
});

describe('events', () => {
  it('reach every listener although one throws, until it is removed', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const calls: string[] = [];
    client.events.on('suspended', () => {
      throw new Error('a faulty listener');
    });
    const remove = client.events.on('suspended', (event) => calls.push(event.reason));
    ensemble.server(1).disconnectAll();
    await world.until(() => calls.length === 1);
    await world.until(() => client.state === 'connected');
    remove();
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.until(() => client.state === 'suspended');
    expect(calls).toHaveLength(1);
  });
});
