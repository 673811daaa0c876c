import { describe, expect, it } from 'vitest';
import { SimWorld } from '../../src/sim/index.ts';

const world = (): SimWorld => new SimWorld({ seed: 1, open: true });

describe('an open world', () => {
  it('lets what runs in it use real time and randomness', async () => {
    const open = world();
    const seen: unknown[] = [];
    open.host('a').runtime.clock.setTimer(5, () => seen.push(Date.now(), Math.random()));
    await open.run({ forMs: 10 });
    expect(seen).toHaveLength(2);
  });

  it('runs beside another one', async () => {
    const [one, other] = [world(), world()];
    await Promise.all([one.run({ forMs: 100 }), other.run({ forMs: 200 })]);
    expect([one.nowMs, other.nowMs]).toEqual([100, 200]);
  });

  it('says when something is to happen, and when it was asked for between two runs', async () => {
    const open = world();
    let asked = 0;
    open.onScheduled(() => {
      asked += 1;
    });
    const { clock } = open.host('a').runtime;
    expect(open.nextMs).toBeUndefined();
    clock.setTimer(7, () => clock.setTimer(5, () => {}));
    expect([asked, open.nextMs]).toEqual([1, 7]);
    await open.run({ untilMs: 7 });
    expect([asked, open.nextMs]).toEqual([1, 12]);
  });

  it('gives the real loop turns, however much there is to do', async () => {
    const open = world();
    const { clock } = open.host('a').runtime;
    const tick = (): void => void clock.setTimer(1, tick);
    tick();
    let turns = 0;
    const count = setInterval(() => {
      turns += 1;
    }, 0);
    await open.run({ forMs: 100_000 });
    clearInterval(count);
    // How many depends on the machine: none, where the loop gets no turn.
    expect(turns).toBeGreaterThan(1);
  });
});

describe('a world that is not open', () => {
  it('does not run beside another one', async () => {
    const [one, other] = [new SimWorld({ seed: 1 }), new SimWorld({ seed: 2 })];
    const first = one.run({ forMs: 100 });
    await expect(other.run({ forMs: 100 })).rejects.toThrow('another SimWorld is running in this process');
    await first;
  });
});
