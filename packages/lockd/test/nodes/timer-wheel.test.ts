import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TimerWheel } from '../../src/nodes/timer-wheel.ts';

const TICK_MS = 10;

describe('a timer wheel', () => {
  it('gives everything at its time, at most a tick late, and nothing before', () => {
    const step = fc.oneof(
      fc.record({ set: fc.nat(9), inMs: fc.integer({ min: -50, max: 400 }) }),
      fc.record({ drop: fc.nat(9) }),
      fc.record({ passMs: fc.nat(120) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let nowMs = 1_234;
        const wheel = new TimerWheel<number>(TICK_MS, nowMs);
        const due = new Map<number, number>();
        for (const each of steps) {
          if ('set' in each) {
            wheel.set(each.set, nowMs + each.inMs, nowMs);
            due.set(each.set, Math.max(nowMs, nowMs + each.inMs));
          } else if ('drop' in each) {
            wheel.delete(each.drop);
            due.delete(each.drop);
          } else {
            nowMs += each.passMs;
            for (const key of wheel.take(nowMs, 100)) {
              expect(due.get(key)).toBeLessThanOrEqual(nowMs);
              expect(due.delete(key)).toBe(true);
            }
            for (const dueMs of due.values()) expect(dueMs + TICK_MS).toBeGreaterThan(nowMs);
          }
          expect(wheel.size).toBe(due.size);
        }
      }),
    );
  });

  it('gives no more than are asked for, and the others the next time', () => {
    const wheel = new TimerWheel<number>(TICK_MS, 0);
    for (let key = 0; key < 25; key += 1) wheel.set(key, key, 0);
    const taken = [wheel.take(100, 10), wheel.take(100, 10), wheel.take(100, 10), wheel.take(100, 10)];
    expect(taken.map(({ length }) => length)).toEqual([10, 10, 5, 0]);
    expect(new Set(taken.flat()).size).toBe(25);
  });
});
