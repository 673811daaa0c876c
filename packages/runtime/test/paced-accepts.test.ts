import { describe, expect, it } from 'vitest';
import {
  ASSUMED_ACCEPTS_PER_S,
  MAX_ACCEPTS_PER_TURN,
  MAX_ACCEPT_AGAIN_MS,
  MAX_ACCEPT_WAIT_MS,
  PacedAccepts,
} from '../src/network/paced-accepts.ts';

/** A loop in which each accept takes so long; its turns are run by the test. */
function loop(acceptMs: number) {
  let nowMs = 0;
  let checks: (() => void)[] = [];
  const accepted: number[] = [];
  const accepts = new PacedAccepts({ monotonicMs: () => nowMs, afterPoll: (callback) => void checks.push(callback) });
  let arrivals = 0;
  return {
    accepts,
    accepted,
    get nowMs() {
      return nowMs;
    },
    arrive: (): number | undefined => {
      arrivals += 1;
      const name = arrivals;
      return accepts.arrived(() => {
        accepted.push(name);
        nowMs += acceptMs;
      });
    },
    /** False when nothing is left to do. */
    turn: (): boolean => {
      const due = checks;
      checks = [];
      nowMs += 0.1;
      for (const check of due) check();
      return due.length > 0;
    },
  };
}

const CROWD = 800;
const BOUND = (ASSUMED_ACCEPTS_PER_S * MAX_ACCEPT_WAIT_MS) / 1_000;

describe('connections that come one by one', () => {
  it('are accepted at once', () => {
    const { arrive, accepted, turn } = loop(1);
    for (let n = 0; n < 100; n += 1) {
      expect(arrive()).toBeUndefined();
      expect(accepted).toHaveLength(n + 1);
      while (turn());
    }
  });
});

describe('connections that come at once', () => {
  it('are accepted in their order, a few in each turn of the loop', () => {
    const { arrive, accepted, turn } = loop(1);
    for (let n = 0; n < 200; n += 1) expect(arrive()).toBeUndefined();
    let before = accepted.length;
    expect(before).toBeLessThan(10);
    while (turn()) {
      expect(accepted.length - before).toBeLessThanOrEqual(MAX_ACCEPTS_PER_TURN);
      before = accepted.length;
    }
    expect(accepted).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  });

  it('are accepted one a turn when each takes long, so that others are served in between', () => {
    const { arrive, accepted, turn } = loop(30);
    for (let n = 0; n < 60; n += 1) arrive();
    for (let n = 0; n < 5; n += 1) turn();
    const before = accepted.length;
    for (let n = 0; n < 5; n += 1) turn();
    expect(accepted.length - before).toBeLessThanOrEqual(7);
  });

  it('are told when to come again if they would wait long: one after another, at the pace of accepts', () => {
    const all = loop(2);
    const told: number[] = [];
    for (let n = 0; n < 2 * BOUND; n += 1) {
      const againInMs = all.arrive();
      if (againInMs !== undefined) told.push(againInMs);
    }
    expect(all.accepts.waiting).toBe(BOUND);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect((told.at(-1) ?? 0) - (told[0] ?? 0)).toBeGreaterThan(
      (told.length - 2) * (1_000 / ASSUMED_ACCEPTS_PER_S) - 2,
    );
    while (all.turn());
    expect(all.arrive()).toBeUndefined();
  });

  it('are told nothing that is further than the bound', () => {
    const { arrive } = loop(2);
    let last: number | undefined;
    for (let n = 0; n < 20_000; n += 1) last = arrive();
    expect(last).toBe(MAX_ACCEPT_AGAIN_MS);
  });

  it('are all accepted when they come again as they were told, by a listener of any pace', () => {
    for (const acceptMs of [0.5, 5, 20]) {
      const all = loop(acceptMs);
      let due = Array.from({ length: CROWD }, () => 0);
      let dials = 0;
      while (all.accepted.length < CROWD) {
        const come = due.filter((atMs) => atMs <= all.nowMs);
        due = due.filter((atMs) => atMs > all.nowMs);
        dials += come.length;
        for (const _ of come) {
          const againInMs = all.arrive();
          if (againInMs !== undefined) due.push(all.nowMs + againInMs);
        }
        all.turn();
      }
      expect(all.nowMs).toBeLessThan(2 * CROWD * acceptMs + 5_000);
      // Nobody comes again and again.
      expect(dials).toBeLessThan(CROWD * 6);
    }
  });
});

describe('a listener that is closed', () => {
  it('accepts nobody who waits', () => {
    const { arrive, accepted, accepts, turn } = loop(1);
    for (let n = 0; n < 100; n += 1) arrive();
    const before = accepted.length;
    accepts.stop();
    while (turn());
    expect(accepted).toHaveLength(before);
    expect(accepts.waiting).toBe(0);
  });
});
