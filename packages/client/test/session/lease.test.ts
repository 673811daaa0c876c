import { describe, expect, it } from 'vitest';
import { LockLostError } from '../../src/errors.ts';
import { Lease, instantOf, type Instant } from '../../src/session/lease.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

const T = 10_000;
const LEASE = T * 0.98;

/** No server answers anything any more. */
function silence({ ensemble }: Scenario): void {
  for (const server of ensemble.servers) server.host.paused = true;
}

describe('the deadline of a hold', () => {
  it('counts from when the renewing message was sent, not from when its answer came', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const before = world.nowMs;
    const acquire = client.lock('a').acquire();
    // The answer takes 300 ms longer than the message.
    await world.until(() => ensemble.applied.length === 0 && ensemble.count('attach') === 1);
    ensemble.server(1).host.paused = true;
    await world.sleep(300);
    ensemble.server(1).host.paused = false;
    const held = await world.settled(acquire);
    expect(world.nowMs - before).toBeGreaterThanOrEqual(300);
    expect(held.remainingMs()).toBeCloseTo(LEASE - (world.nowMs - before), 6);
  });

  it('aborts the signal in time, before the ensemble can end the session', async () => {
    const all = await scenario();
    const { world, connect } = all;
    const client = await connect();
    const before = world.nowMs;
    const held = await world.settled(client.lock('a').acquire());
    silence(all);
    await world.until(() => held.signal.aborted);
    expect(world.nowMs).toBeLessThan(before + T);
    expect(world.nowMs).toBeGreaterThanOrEqual(before + LEASE);
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(held.remainingMs()).toBe(0);
  });

  it('is computed at the question: assertHeld throws although the timer is late [lease-after-gc-pause]', async () => {
    const { world, host, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const { signal } = held;
    host.block(LEASE - 100);
    held.assertHeld();
    host.block(200);
    expect(signal.aborted).toBe(false);
    expect(held.remainingMs()).toBe(0);
    expect(() => held.assertHeld()).toThrow(LockLostError);
    expect(signal.aborted).toBe(true);
  });

  it('is over for good once it was found over, even if the session lives', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    host.block(LEASE + 1);
    expect(() => held.assertHeld()).toThrow(LockLostError);
    await world.sleep(5_000);
    expect(client.state).toBe('connected');
    expect(() => held.assertHeld()).toThrow(LockLostError);
    // And the next in line does not wait for the end of the session.
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('comes at once when the wall clock shows that the machine slept', async () => {
    const { world, host, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    host.wallOffsetMs += LEASE + 1;
    expect(held.remainingMs()).toBe(0);
    expect(() => held.assertHeld()).toThrow(LockLostError);
  });

  it('aborts the signal within a second of waking, although the monotonic clock stood still', async () => {
    const all = await scenario();
    const { world, host, connect } = all;
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    silence(all);
    host.wallOffsetMs += 60_000;
    await world.until(() => held.signal.aborted, 1_100);
  });

  it('does not come later because the wall clock was set back', async () => {
    const all = await scenario();
    const { world, host, connect } = all;
    const client = await connect();
    const before = world.nowMs;
    const held = await world.settled(client.lock('a').acquire());
    silence(all);
    host.wallOffsetMs -= 3_600_000;
    await world.until(() => held.signal.aborted);
    expect(world.nowMs).toBeLessThan(before + T);
  });

  it('moves with every write', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    for (let round = 0; round < 20; round += 1) {
      await world.sleep(2_000);
      await world.settled(client.lock('b').withLock(() => undefined));
      held.assertHeld();
    }
    expect(ensemble.count('heartbeat')).toBe(0);
  });

  it('moves with heartbeats, one for every third of the session timeout, when nothing is written', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    await world.sleep(3 * T);
    held.assertHeld();
    expect(ensemble.count('heartbeat')).toBeGreaterThanOrEqual(8);
    expect(ensemble.count('heartbeat')).toBeLessThanOrEqual(10);
  });

  it('counts from when the heartbeat was sent, however long its answer takes', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    await world.until(() => ensemble.count('heartbeat') === 1);
    const sentAtMs = world.nowMs - 1;
    ensemble.server(1).host.paused = true;
    await world.sleep(500);
    ensemble.server(1).host.paused = false;
    const before = held.remainingMs();
    await world.until(() => held.remainingMs() > before);
    expect(held.remainingMs()).toBeCloseTo(LEASE - (world.nowMs - sentAtMs), 6);
  });

  it('counts from when the attach was sent, however long its answer takes', async () => {
    const { world, ensemble, connect } = await scenario({ servers: 1 });
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const server = ensemble.server(1);
    await world.sleep(1_000);
    server.disconnectAll();
    await world.until(() => ensemble.count('attach') === 2);
    server.host.paused = true;
    const sentAtMs = world.nowMs - 1;
    await world.sleep(500);
    server.host.paused = false;
    await world.until(() => client.state === 'connected');
    expect(world.nowMs - sentAtMs).toBeGreaterThanOrEqual(500);
    expect(held.remainingMs()).toBeCloseTo(LEASE - (world.nowMs - sentAtMs), 6);
  });

  it('counts from the very heartbeat that was acknowledged, though later ones were sent', async () => {
    const { world, ensemble, connect } = await scenario({ servers: 1 });
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const server = ensemble.server(1);
    server.hook = (message) => (message.type === 'heartbeat' ? 'ignore' : 'handle');
    await world.until(() => ensemble.count('heartbeat') === 3);
    const [first, second] = ensemble.received.filter(({ message }) => message.type === 'heartbeat');
    if (first?.message.type !== 'heartbeat' || second?.message.type !== 'heartbeat') throw new Error('no heartbeat');
    const remainsOf = (sentAtMs: number) => LEASE - (world.nowMs - sentAtMs);
    for (const { message, atMs } of [second, first] as const) {
      if (message.type !== 'heartbeat') continue;
      server.broadcast({ type: 'renewed', id: message.id });
      await world.sleep(5);
      // The older one, acknowledged later, takes nothing back.
      expect(atMs).toBeLessThanOrEqual(second.atMs);
      expect(held.remainingMs()).toBeCloseTo(remainsOf(second.atMs - 1), 6);
    }
    server.broadcast({ type: 'renewed', id: 1_000 });
    await world.sleep(5);
    expect(held.remainingMs()).toBeCloseTo(remainsOf(second.atMs - 1), 6);
  });

  it('counts from when a request was first sent, however often it was sent again', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).hook = (message) => (message.type === 'request' ? 'ignore' : 'handle');
    const sentAtMs = world.nowMs;
    const acquire = client.lock('a').acquire();
    await world.sleep(1_000);
    ensemble.server(1).hook = () => 'handle';
    ensemble.server(1).broadcast({ type: 'resend', from: 1, code: 'LEADER_CHANGED' });
    const held = await world.settled(acquire);
    expect(held.remainingMs()).toBeCloseTo(LEASE - (world.nowMs - sentAtMs), 6);
  });

  it('does not move with reads', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    for (const server of ensemble.servers)
      server.hook = (message) => (message.type === 'read' || message.type === 'ping' ? 'handle' : 'ignore');
    for (let elapsed = 0; elapsed < LEASE && !held.signal.aborted; elapsed += 500) {
      await world.sleep(500);
      await world.settled(held.verify().catch(() => undefined));
    }
    await world.sleep(500);
    expect(held.signal.aborted).toBe(true);
  });
});

describe('a grant', () => {
  it('is not handed out under a lease that has run out, but once a renewal shows that the session lives', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const owner = await connect();
    const waiter = await connect();
    const first = await world.settled(owner.lock('a').acquire());
    const second = waiter.lock('a').acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    let resolvedAtMs = 0;
    void second.then(() => (resolvedAtMs = world.nowMs));
    // The grant reaches this process while it is busy for longer than its lease.
    ensemble.revoke(first.acquireIndex);
    host.block(LEASE + 100);
    const woke = world.nowMs;
    await world.until(() => waiter.status().waits === 1 && waiter.status().remainingMs === 0);
    const held = await world.settled(second);
    expect(resolvedAtMs).toBeGreaterThan(woke);
    held.assertHeld();
    expect(held.remainingMs()).toBeGreaterThan(LEASE - 100);
  });
});

describe('a lease that runs out while no server can be reached', () => {
  it('ends the holds and not the session: what the ensemble still has is given back', async () => {
    const all = await scenario();
    const { world, ensemble, connect } = all;
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    silence(all);
    await world.until(() => held.signal.aborted);
    expect(client.state).toBe('suspended');
    for (const server of ensemble.servers) server.host.paused = false;
    await world.until(() => client.state === 'connected');
    await world.until(() => ensemble.queue('a').length === 0);
    expect(ensemble.received.some(({ message }) => isCommand(message, 'release'))).toBe(true);
    await world.settled(client.lock('a').withLock(() => undefined));
  });
});

describe('a server that answers pings and renews nothing', () => {
  it('is not mistaken for this process having been busy', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const client = await connect();
    await world.until(() => ensemble.count('heartbeat') === 1);
    // The answer is on its way, and nobody reads it.
    await world.sleep(0.5);
    host.block(T);
    await world.sleep(100);
    expect(client.state).toBe('connected');
    expect(ensemble.count('attach')).toBe(1);
  });

  it('is left for another before the lease has run out', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.server(1).hook = (message) => (message.type === 'ping' || message.type === 'hello' ? 'handle' : 'ignore');
    ensemble.leader = 2;
    await world.sleep(2 * T);
    held.assertHeld();
    expect(client.status().server?.id).toBe(2);
  });
});

describe('a lease that another thread renews as well', () => {
  it('counts from the latest of both, and keeps what was renewed when that thread is gone', async () => {
    const { world, host } = await scenario();
    const { clock } = host.runtime;
    const lease = new Lease(clock, T);
    lease.renew(instantOf(clock));
    let others: Instant | undefined;
    lease.follow(() => others);
    await world.sleep(4_000);
    expect(lease.remainingMs()).toBeCloseTo(LEASE - 4_000, 6);
    others = instantOf(clock);
    expect(lease.remainingMs()).toBeCloseTo(LEASE, 6);
    expect(lease.renewedAtMs).toBe(others.monotonicMs);
    await world.sleep(1_000);
    lease.renew(instantOf(clock));
    expect(lease.remainingMs()).toBeCloseTo(LEASE, 6);
    await world.sleep(1_000);
    others = instantOf(clock);
    lease.follow(undefined);
    others = undefined;
    expect(lease.remainingMs()).toBeCloseTo(LEASE, 6);
  });

  it('is not lengthened once its session is over, nor by a wall clock that was ahead', async () => {
    const { world, host } = await scenario();
    const { clock } = host.runtime;
    const lease = new Lease(clock, T);
    lease.renew(instantOf(clock));
    await world.sleep(3_000);
    const { monotonicMs, wallMs } = instantOf(clock);
    lease.follow(() => ({ monotonicMs, wallMs: wallMs - 2_000 }));
    // As if the machine had slept since then: the larger of the two elapsed times counts.
    expect(lease.remainingMs()).toBeCloseTo(LEASE - 2_000, 6);
    lease.end();
    lease.follow(() => instantOf(clock));
    expect(lease.remainingMs()).toBeCloseTo(LEASE - 2_000, 6);
  });
});
