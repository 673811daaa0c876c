import { describe, expect, it } from 'vitest';
import { LEASE_EXTENSION_MS, LEASE_TICK_MS } from '../../src/limits.ts';
import { SessionLeases } from '../../src/sessions/session-leases.ts';
import { ManualClock } from '../support/manual-clock.ts';

function setup(sessions: readonly { id: number; timeoutMs: number }[] = [{ id: 7, timeoutMs: 2_000 }]) {
  const clock = new ManualClock();
  const expired: { session: number; atMs: number }[] = [];
  const leases = new SessionLeases(clock);
  leases.onExpired((session) => expired.push({ session, atMs: clock.nowMs }));
  leases.start(sessions);
  return { clock, expired, leases, startMs: clock.nowMs };
}

describe('a session that nobody renews', () => {
  it('expires once, not before its timeout and within two ticks after it', () => {
    const { clock, expired, startMs } = setup();
    clock.advance(10_000);
    expect(expired).toHaveLength(1);
    const afterMs = (expired[0]?.atMs ?? 0) - startMs;
    expect(afterMs).toBeGreaterThanOrEqual(2_000);
    expect(afterMs).toBeLessThanOrEqual(2_000 + 2 * LEASE_TICK_MS);
  });

  it('expires at its own time among many others', () => {
    const sessions = Array.from({ length: 500 }, (_, n) => ({ id: n + 1, timeoutMs: 1_000 + 238 * n }));
    const { clock, expired, startMs } = setup(sessions);
    clock.advance(130_000);
    expect(expired).toHaveLength(500);
    for (const { session, atMs } of expired) {
      const timeoutMs = 1_000 + 238 * (session - 1);
      expect(atMs - startMs).toBeGreaterThanOrEqual(timeoutMs);
      expect(atMs - startMs).toBeLessThanOrEqual(timeoutMs + 2 * LEASE_TICK_MS);
    }
  });

  it('expires although no session had been there for hours', () => {
    const { clock, expired, leases } = setup([]);
    clock.advance(7_200_000);
    leases.arm(9, 1_000);
    clock.advance(900);
    expect(expired).toEqual([]);
    clock.advance(300);
    expect(expired).toMatchObject([{ session: 9 }]);
  });
});

describe('a session that is told to expire', () => {
  it('does so at once and once, however much time it had', () => {
    const { clock, expired, leases, startMs } = setup();
    expect(leases.expire(7)).toBe(true);
    expect(expired).toEqual([{ session: 7, atMs: startMs }]);
    expect([leases.expire(7), leases.expire(8), leases.renew(7)]).toEqual([false, false, false]);
    clock.advance(10_000);
    expect(expired).toHaveLength(1);
  });

  it('has its full time again when that came back without effect', () => {
    const { clock, expired, leases } = setup();
    leases.expire(7);
    leases.survived(7);
    clock.advance(1_900);
    expect(expired).toHaveLength(1);
    clock.advance(300);
    expect(expired).toHaveLength(2);
  });
});

describe('a session that is renewed', () => {
  it('lives as long as every renewal comes in time', () => {
    const { clock, expired, leases } = setup();
    for (let renewal = 0; renewal < 100; renewal += 1) {
      clock.advance(1_900);
      expect(leases.renew(7)).toBe(true);
    }
    expect(expired).toEqual([]);
    clock.advance(2_200);
    expect(expired).toMatchObject([{ session: 7 }]);
  });

  it('is not renewed once its expiry has been decided, until that comes back without effect', () => {
    const { clock, expired, leases } = setup();
    clock.advance(2_200);
    expect(expired).toHaveLength(1);
    expect(leases.renew(7)).toBe(false);
    leases.survived(7);
    expect(leases.renew(7)).toBe(true);
    clock.advance(1_900);
    expect(expired).toHaveLength(1);
    clock.advance(300);
    expect(expired).toHaveLength(2);
  });

  it('is tried again at the next tick when its expiry could not be proposed, unless it is renewed', () => {
    const { clock, expired, leases } = setup([
      { id: 7, timeoutMs: 2_000 },
      { id: 8, timeoutMs: 2_000 },
    ]);
    clock.advance(2_100);
    expect(expired).toHaveLength(2);
    leases.retry(7);
    leases.retry(8);
    expect(leases.renew(8)).toBe(true);
    clock.advance(3 * LEASE_TICK_MS);
    expect(expired.map(({ session }) => session)).toEqual([7, 8, 7]);
  });
});

describe('a leader that stalls', () => {
  it('moves every deadline forward by the stall before it decides', () => {
    const { clock, expired } = setup();
    clock.advance(1_000);
    clock.stall(60_000);
    clock.runTimers();
    clock.runChecks();
    expect(expired).toEqual([]);
    clock.advance(900);
    expect(expired).toEqual([]);
    clock.advance(300);
    expect(expired).toHaveLength(1);
  });

  it('ends a session within twice its timeout although it is a little late all the time', () => {
    const { clock, expired, startMs } = setup();
    while (expired.length === 0 && clock.nowMs - startMs < 60_000) {
      clock.stall(4 * LEASE_TICK_MS);
      clock.runTimers();
      clock.runChecks();
    }
    const afterMs = (expired[0]?.atMs ?? 0) - startMs;
    expect(afterMs).toBeGreaterThanOrEqual(2 * 2_000);
    expect(afterMs).toBeLessThan(2 * 2_000 + 1_500);
  });

  it('expires a session once that survived such an end, when its new time is over', () => {
    const { clock, expired, leases } = setup();
    // It is brought forward, and still in the place in which it was before.
    while (expired.length === 0) {
      clock.stall(4 * LEASE_TICK_MS);
      clock.runTimers();
      clock.runChecks();
    }
    leases.survived(7);
    clock.advance(60_000);
    expect(expired).toHaveLength(2);
    expect((expired[1]?.atMs ?? 0) - (expired[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(2_000);
  });

  it('gives nobody who is renewed less time for that', () => {
    const { clock, expired, leases } = setup();
    for (let round = 0; round < 500; round += 1) {
      clock.stall(4 * LEASE_TICK_MS);
      clock.runTimers();
      if (round % 9 === 0) leases.renew(7);
      clock.runChecks();
    }
    expect(expired).toEqual([]);
  });

  it('reads what waits in its sockets before it decides', () => {
    const { clock, expired, leases } = setup();
    clock.advance(1_990);
    clock.stall(LEASE_TICK_MS);
    clock.runTimers();
    // The poll phase: the renewal had been waiting.
    leases.renew(7);
    clock.runChecks();
    clock.advance(1_900);
    expect(expired).toEqual([]);
  });
});

describe('a session whose time is over while a crowd comes back', () => {
  function crowd() {
    const clock = new ManualClock();
    const expired: { session: number; atMs: number }[] = [];
    const state = { crowded: true };
    const leases = new SessionLeases(clock, () => state.crowded);
    leases.onExpired((session) => expired.push({ session, atMs: clock.nowMs }));
    leases.start([{ id: 7, timeoutMs: 2_000 }]);
    return { clock, expired, state, leases, startMs: clock.nowMs };
  }

  it('has more, for its renewal may wait in that crowd', () => {
    const { clock, expired, leases } = crowd();
    clock.advance(3_500);
    expect(expired).toEqual([]);
    expect(leases.renew(7)).toBe(true);
    expect(leases.extensions).toBeGreaterThan(3);
    clock.advance(1_900);
    expect(expired).toEqual([]);
  });

  it('ends soon after the crowd has come', () => {
    const { clock, expired, state, startMs } = crowd();
    clock.advance(2_600);
    state.crowded = false;
    clock.advance(1_000);
    expect(expired).toHaveLength(1);
    expect((expired[0]?.atMs ?? 0) - startMs).toBeLessThan(2_600 + LEASE_EXTENSION_MS + 2 * LEASE_TICK_MS);
  });

  it('ends within twice its timeout whoever else comes', () => {
    const { clock, expired, startMs } = crowd();
    clock.advance(10_000);
    expect(expired).toHaveLength(1);
    const afterMs = (expired[0]?.atMs ?? 0) - startMs;
    expect(afterMs).toBeGreaterThanOrEqual(2 * 2_000);
    expect(afterMs).toBeLessThan(2 * 2_000 + LEASE_EXTENSION_MS + 2 * LEASE_TICK_MS);
  });
});

describe('a leader', () => {
  it('arms every session in full when it begins', () => {
    const { clock, expired, leases } = setup();
    clock.advance(1_900);
    leases.start([{ id: 7, timeoutMs: 2_000 }]);
    clock.advance(1_900);
    expect(expired).toEqual([]);
  });

  it('expires nobody after it has ended', () => {
    const { clock, expired, leases } = setup();
    leases.stop();
    clock.advance(60_000);
    expect(expired).toEqual([]);
    expect(leases.size).toBe(0);
  });

  it('that has ended arms no session that another leader opens', () => {
    const { clock, expired, leases } = setup();
    leases.stop();
    leases.arm(8, 1_000);
    expect(leases.active).toBe(false);
    expect(leases.size).toBe(0);
    clock.advance(60_000);
    expect(expired).toEqual([]);
  });

  it('leaves a session alone that has ended by itself', () => {
    const { clock, expired, leases } = setup();
    leases.remove(7);
    clock.advance(60_000);
    expect(expired).toEqual([]);
  });
});
