import { describe, expect, it } from 'vitest';
import { SimWorld } from '../../src/sim/index.ts';

describe('the clocks of a simulated host', () => {
  it('have a monotonic origin of their own for every process', () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    const before = host.runtime.clock.monotonicMs();
    expect(world.host('b').runtime.clock.monotonicMs()).not.toBe(before);
    host.kill();
    host.restart();
    expect(host.runtime.clock.monotonicMs()).not.toBe(before);
  });

  it('let the wall clock jump without touching the monotonic one or timers', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    const { clock } = host.runtime;
    const [monotonicMs, wallMs] = [clock.monotonicMs(), clock.wallMs()];
    let fired = false;
    clock.setTimer(100, () => (fired = true));
    host.jumpWall(-3_600_000);
    await world.run({ forMs: 100 });
    expect(fired).toBe(true);
    expect(clock.monotonicMs() - monotonicMs).toBe(100);
    expect(clock.wallMs() - wallMs).toBe(100 - 3_600_000);
  });

  it('let a fast clock fire timers sooner, those that are pending too, and never early by itself', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    const { clock } = host.runtime;
    const startMs = clock.monotonicMs();
    const fired: { worldMs: number; ownMs: number }[] = [];
    const note = () => void fired.push({ worldMs: world.nowMs, ownMs: clock.monotonicMs() - startMs });
    clock.setTimer(100, note);
    await world.run({ forMs: 50 });
    host.setClockRate(2);
    clock.setTimer(100, note);
    await world.run({ forMs: 60 });
    expect(fired.map(({ worldMs }) => worldMs)).toEqual([75, 100]);
    expect(fired.map(({ ownMs }) => ownMs)).toEqual([100, 150]);
  });

  it('never fire early by rounding, at any rate', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    host.setClockRate(1.01);
    const { clock, random } = host.runtime;
    const early: number[] = [];
    let fired = 0;
    for (let n = 0; n < 500; n += 1) {
      const delayMs = random.next() * 100;
      const dueMs = clock.monotonicMs() + delayMs;
      clock.setTimer(delayMs, () => {
        fired += 1;
        if (clock.monotonicMs() < dueMs) early.push(delayMs);
      });
    }
    await world.run({ forMs: 200 });
    expect(fired).toBe(500);
    expect(early).toEqual([]);
  });

  it('begin with the offset that the machine has', async () => {
    const world = new SimWorld({ seed: 1 });
    await world.run({ forMs: 1_000 });
    const { clock } = world.host('a').runtime;
    const { clock: ahead } = world.host('ahead', { wallOffsetMs: 5_000 }).runtime;
    const { clock: behind } = world.host('behind', { wallOffsetMs: -5_000 }).runtime;
    expect([ahead.wallMs() - clock.wallMs(), behind.wallMs() - clock.wallMs()]).toEqual([5_000, -5_000]);
  });

  it('run at rates of their own, the wall clock apart from the monotonic one, over a restart', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    host.setWallRate(2);
    host.setClockRate(0.5);
    const passed = async () => {
      const { clock } = host.runtime;
      const [monotonicMs, wallMs] = [clock.monotonicMs(), clock.wallMs()];
      await world.run({ forMs: 100 });
      return [clock.monotonicMs() - monotonicMs, clock.wallMs() - wallMs];
    };
    expect(await passed()).toEqual([50, 200]);
    host.kill();
    host.restart();
    expect(await passed()).toEqual([50, 200]);
    host.setWallRate(1);
    host.setClockRate(1);
    expect(await passed()).toEqual([100, 100]);
    for (const rate of [0, -1, Infinity, NaN]) {
      expect(() => host.setClockRate(rate)).toThrow('rate of a clock');
      expect(() => host.setWallRate(rate)).toThrow('rate of a clock');
    }
  });
});
