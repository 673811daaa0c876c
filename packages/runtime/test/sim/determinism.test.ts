import { describe, expect, it } from 'vitest';
import { SimWorld } from '../../src/sim/index.ts';

interface Changes {
  /** Draws that a program adds to its own randomness. */
  readonly drawsOfProgram?: number;
  /** Draws that a test or a fault plan adds. */
  readonly drawsOfTest?: number;
  /** Frames that another pair of hosts exchanges. */
  readonly foreignFrames?: number;
  /** Writes on another host's disk. */
  readonly foreignWrites?: number;
  /** For each frame from a to b; draws even when it never strikes. */
  readonly lossChance?: number;
  /** The first byte of each frame. */
  readonly content?: number;
}

/** Hosts a and b exchange frames and write them to disk; c and d do what the changes say. */
async function exchange(seed: number, changes: Changes = {}): Promise<{ times: string; hash: string }> {
  const world = new SimWorld({ seed });
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => world.host(name).runtime);
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('a host is missing');
  const times: number[] = [];
  const {
    content = 0,
    drawsOfProgram = 0,
    drawsOfTest = 0,
    foreignFrames = 0,
    foreignWrites = 0,
    lossChance = 0,
  } = changes;
  for (const [{ network }, address] of [
    [b, 'b:1'],
    [d, 'd:1'],
  ] as const) {
    const listening = network.listen({
      address,
      maxFrameBytes: 100,
      onConnection: (connection) => {
        connection.setHandler({
          frame: () => {
            if (address === 'b:1') times.push(world.nowMs);
          },
          close() {},
        });
      },
    });
    await world.complete(listening);
  }
  const near = await world.complete(a.network.dial({ address: 'b:1', timeoutMs: 100, maxFrameBytes: 100 }));
  const file = await world.complete(a.disk.open('/file', 'create'));
  world.network.setConnectionLoss(0.01, 'c', 'd');
  world.network.setConnectionLoss(lossChance, 'a', 'b');
  for (let n = 0; n < drawsOfProgram; n += 1) for (const { random } of [a, b]) random.bytes(1 + (n % 3));
  const plan = world.random('plan');
  for (let n = 0; n < drawsOfTest; n += 1) plan.next();
  const other = c.network.dial({ address: 'd:1', timeoutMs: 100, maxFrameBytes: 100 });
  const foreign = async () => {
    const connection = await other;
    for (let n = 0; n < foreignFrames; n += 1) connection.send(Uint8Array.of(n));
    const scratch = await c.disk.open('/file', 'create');
    for (let n = 0; n < foreignWrites; n += 1) void scratch.append(n, [Uint8Array.of(n)]);
  };
  void foreign();
  for (let n = 0; n < 30; n += 1) {
    a.clock.setTimer(10 + n, () => {
      near.send(Uint8Array.of(content, n));
      void file.append(n, [Uint8Array.of(n)]).then(() => times.push(world.nowMs));
    });
  }
  await world.run({ forMs: 200 });
  return { times: times.join(), hash: world.traceHash };
}

describe('the random streams of a world', () => {
  it('are one for each concern: draws that are added to one shift no other', async () => {
    const before = await exchange(1);
    expect(before.times.split(',')).toHaveLength(60);
    expect(await exchange(1, { drawsOfProgram: 100, drawsOfTest: 100 })).toEqual(before);
    expect((await exchange(1, { foreignFrames: 200 })).times).toBe(before.times);
    expect((await exchange(1, { foreignWrites: 50 })).times).toBe(before.times);
    expect(await exchange(1, { lossChance: 1e-12 })).toEqual(before);
    expect((await exchange(2)).times).not.toBe(before.times);
  });

  it('keep the latencies of a disk apart from what a power failure tears', async () => {
    const tookMs = async (unsynced: number): Promise<number> => {
      const world = new SimWorld({ seed: 3 });
      const host = world.host('a');
      const file = await world.complete(host.runtime.disk.open('/file', 'create'));
      await world.complete(host.runtime.disk.syncDirectory('/'));
      void file.write(0, new Uint8Array(512 * unsynced));
      host.crash({ tear: 'random' });
      host.restart();
      const startMs = world.nowMs;
      await world.complete(host.runtime.disk.makeDirectory('/data'));
      return world.nowMs - startMs;
    };
    expect(await tookMs(50)).toBe(await tookMs(1));
  });

  it('are others for the tests than for the parts of the world, whatever they are called', () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    expect(host.runtime.random.next()).not.toBe(world.random('process/a/1').next());
    expect(world.random('plan').next()).toBe(world.random('plan').next());
  });
});

describe('the trace of a world', () => {
  it('tells two runs apart that differ only in the bytes of what was sent', async () => {
    const first = await exchange(1);
    const second = await exchange(1, { content: 1 });
    expect(second.times).toBe(first.times);
    expect(second.hash).not.toBe(first.hash);
  });
});

describe('worlds that run one after another', () => {
  it('do not influence each other', async () => {
    const alone = await exchange(5);
    await exchange(6, { drawsOfProgram: 10, foreignFrames: 100 });
    expect(await exchange(5)).toEqual(alone);
  });

  it('do not when one of them failed in the middle', async () => {
    const alone = await exchange(5);
    const failing = new SimWorld({ seed: 7 });
    failing.host('a').runtime.clock.setTimer(1, () => {
      void Promise.reject(new Error('one'));
      throw new Error('two');
    });
    await expect(failing.run({ forMs: 10 })).rejects.toThrow('two');
    expect(await exchange(5)).toEqual(alone);
  });
});
