import { describe, expect, it } from 'vitest';
import type { Timer } from '../src/index.ts';
import { Throttle, type ThrottleOptions } from '../src/throttle.ts';

const NEVER = { isUrgent: () => false, checkMs: 50 };

function throttle(options: ThrottleOptions) {
  const timers: { readonly atMs: number; readonly callback: () => void }[] = [];
  const clock = {
    nowMs: 1_000,
    monotonicMs: () => clock.nowMs,
    setTimer: (delayMs: number, callback: () => void): Timer => {
      timers.push({ atMs: clock.nowMs + delayMs, callback });
      return { cancel: () => undefined };
    },
  };
  const pass = async (ms: number): Promise<void> => {
    const untilMs = clock.nowMs + ms;
    for (;;) {
      const next = timers.toSorted((a, b) => a.atMs - b.atMs).find(({ atMs }) => atMs <= untilMs);
      if (next === undefined) break;
      timers.splice(timers.indexOf(next), 1);
      clock.nowMs = Math.max(clock.nowMs, next.atMs);
      next.callback();
      await new Promise((resolve) => setImmediate(resolve));
    }
    clock.nowMs = untilMs;
  };
  return { clock, pass, throttle: new Throttle(options, clock) };
}

describe('a throttle', () => {
  it('lets work begin at once, and again when the loop was free for several times as long', () => {
    const { clock, throttle: it } = throttle({ restFactor: 4 });
    expect(it.waitMs()).toBe(0);
    it.run(() => (clock.nowMs += 3));
    expect(it.waitMs()).toBe(12);
    clock.nowMs += 5;
    expect(it.waitMs()).toBe(7);
    clock.nowMs += 100;
    expect(it.waitMs()).toBe(0);
  });

  it('makes nobody wait for longer than its limit, however long the work took', () => {
    const { throttle: it } = throttle({ restFactor: 4, maxRestMs: 20 });
    it.worked(1_000);
    expect(it.waitMs()).toBe(20);
  });

  it('shortens no rest by a later, smaller piece of work', () => {
    const { throttle: it } = throttle({ restFactor: 4 });
    it.worked(5);
    it.worked(1);
    expect(it.waitMs()).toBe(20);
  });

  it('lets bytes go at its rate, in the order in which they were asked for', async () => {
    const { pass, throttle: it } = throttle({ restFactor: 0, bytesPerSecond: 1_000 });
    const gone: number[] = [];
    for (const n of [1, 2, 3]) void it.take(100, NEVER).then(() => gone.push(n));
    await pass(0);
    expect(gone).toEqual([1]);
    await pass(99);
    expect(gone).toEqual([1]);
    await pass(1);
    expect(gone).toEqual([1, 2]);
    await pass(100);
    expect(gone).toEqual([1, 2, 3]);
  });

  it('lets bytes go that have become urgent, when it next asks', async () => {
    let urgent = false;
    const { pass, throttle: it } = throttle({ restFactor: 0, bytesPerSecond: 1_000 });
    void it.take(10_000, NEVER);
    let gone = false;
    void it.take(1, { isUrgent: () => urgent, checkMs: 50 }).then(() => (gone = true));
    await pass(500);
    expect(gone).toBe(false);
    urgent = true;
    await pass(50);
    expect(gone).toBe(true);
  });

  it('takes nothing of its rate for bytes that were urgent, however many', async () => {
    const { pass, throttle: it } = throttle({ restFactor: 0, bytesPerSecond: 1_000 });
    for (let n = 0; n < 100; n += 1) await it.take(1_000, { isUrgent: () => true, checkMs: 50 });
    let gone = false;
    void it.take(1, NEVER).then(() => (gone = true));
    // Of the first ones, which had no need to be urgent.
    await pass(999);
    expect(gone).toBe(false);
    await pass(1);
    expect(gone).toBe(true);
  });

  it('shortens no rest for bytes that were urgent', async () => {
    const { throttle: it } = throttle({ restFactor: 4, bytesPerSecond: 1_000 });
    it.worked(100);
    await it.take(300, { isUrgent: () => true, checkMs: 50 });
    expect(it.waitMs()).toBe(400);
  });

  it('gives bytes no turn before the rest after the ones before them', async () => {
    const { clock, pass, throttle: it } = throttle({ restFactor: 4, bytesPerSecond: 1_000_000 });
    await it.take(10, NEVER);
    it.run(() => (clock.nowMs += 10));
    let gone = false;
    void it.take(10, NEVER).then(() => (gone = true));
    await pass(39);
    expect(gone).toBe(false);
    await pass(1);
    expect(gone).toBe(true);
  });
});
