import { describe, expect, it } from 'vitest';
import type { Connection } from '../../src/index.ts';
import { SimTimeoutError, SimWorld } from '../../src/sim/index.ts';

/** Timers, messages, disk writes, a cut and a crash on two hosts; returns what was seen and the trace. */
async function busyRun(seed: number): Promise<{ hash: string; seen: string }> {
  const world = new SimWorld({ seed });
  const server = world.host('server');
  const client = world.host('client');
  const seen: string[] = [];
  const listening = server.runtime.network.listen({
    address: 'server:7101',
    maxFrameBytes: 1_000,
    onConnection: (connection) => {
      connection.setHandler({
        frame: (bytes) => {
          seen.push(`${world.nowMs}:${bytes.join()}`);
          connection.send(bytes);
        },
        close: (reason) => seen.push(`${world.nowMs}:${reason}`),
      });
    },
  });
  await world.complete(listening);
  const work = async () => {
    const { clock, disk, network, random } = client.runtime;
    const connection = await network.dial({ address: 'server:7101', timeoutMs: 1_000, maxFrameBytes: 1_000 });
    const file = await disk.open('journal', 'create');
    connection.setHandler({
      frame: (bytes) => {
        seen.push(`${world.nowMs}:echo ${bytes.join()}`);
        void file.append(bytes[0] ?? 0, [bytes]);
      },
      close: (reason) => seen.push(reason),
    });
    for (let n = 0; n < 20; n += 1) clock.setTimer(random.integer(50) + 1, () => connection.send(Uint8Array.of(n)));
  };
  void work();
  world.after(20, () => world.network.cut('client', 'server'));
  world.after(40, () => world.network.heal());
  world.after(45, () => server.crash({ tear: 'random' }));
  await world.run({ untilMs: 200 });
  return { hash: world.traceHash, seen: seen.join('\n') };
}

describe('a simulated world', () => {
  it('takes the same path for the same seed', async () => {
    const first = await busyRun(7);
    const second = await busyRun(7);
    expect(first.seen).toContain('echo');
    expect(second).toEqual(first);
  });

  it('takes the same path where promises can only settle between turns of the real event loop', async () => {
    const tickCallback = Object.getOwnPropertyDescriptor(process, '_tickCallback');
    expect(tickCallback?.value).toBeTypeOf('function');
    const drained = await busyRun(7);
    Object.defineProperty(process, '_tickCallback', { ...tickCallback, value: undefined });
    try {
      expect(await busyRun(7)).toEqual(drained);
    } finally {
      Object.defineProperty(process, '_tickCallback', { ...tickCallback });
    }
  });

  it('lets the timers of the real process fire during a long run', async () => {
    const world = new SimWorld({ seed: 1 });
    const { clock } = world.host('a').runtime;
    let realTimer = false;
    setTimeout(() => (realTimer = true), 1);
    const tick = () => void clock.setTimer(1, tick);
    tick();
    await world.run({ until: () => realTimer, maxMs: 100_000_000 });
    expect(realTimer).toBe(true);
  });

  it('takes different paths for different seeds', async () => {
    const hashes = new Set<string>();
    for (let seed = 0; seed < 10; seed += 1) hashes.add((await busyRun(seed)).hash);
    expect(hashes.size).toBe(10);
  });

  it('lets promises run to their end before the next event', async () => {
    const world = new SimWorld({ seed: 1 });
    const { clock } = world.host('a').runtime;
    const order: string[] = [];
    const chain = async () => {
      for (let n = 0; n < 50; n += 1) await Promise.resolve();
      order.push('promises');
    };
    clock.setTimer(5, () => void chain());
    clock.setTimer(5, () => order.push('next event'));
    await world.run({ forMs: 10 });
    expect(order).toEqual(['promises', 'next event']);
  });

  it('moves on to the time that it was told to reach even when nothing happens', async () => {
    const world = new SimWorld({ seed: 1 });
    await world.run({ untilMs: 1_234.5 });
    expect(world.nowMs).toBe(1_234.5);
    await world.run({ forMs: 10 });
    expect(world.nowMs).toBe(1_244.5);
  });

  it('stops as soon as the condition holds', async () => {
    const world = new SimWorld({ seed: 1 });
    let fired = 0;
    for (const delayMs of [10, 20, 30]) world.host('a').runtime.clock.setTimer(delayMs, () => (fired += 1));
    await world.run({ until: () => fired === 2 });
    expect(world.nowMs).toBe(20);
  });

  it('rejects when the condition does not come about', async () => {
    const world = new SimWorld({ seed: 1 });
    const tick = () => void world.host('a').runtime.clock.setTimer(100, tick);
    tick();
    await expect(world.run({ until: () => false, maxMs: 1_000 })).rejects.toThrow(SimTimeoutError);
    expect(world.nowMs).toBe(1_000);
    const idle = new SimWorld({ seed: 1 });
    await expect(idle.run({ until: () => false })).rejects.toThrow('nothing is left to happen');
  });

  it('surfaces what a callback throws', async () => {
    const world = new SimWorld({ seed: 1 });
    const failure = new Error('thrown in a timer');
    world.host('a').runtime.clock.setTimer(5, () => {
      throw failure;
    });
    await expect(world.run({ forMs: 10 })).rejects.toBe(failure);
  });

  it('surfaces a rejection that nothing handles', async () => {
    const world = new SimWorld({ seed: 1 });
    const failure = new Error('rejected in a timer');
    world.host('a').runtime.clock.setTimer(5, () => void Promise.reject(failure));
    await expect(world.run({ forMs: 10 })).rejects.toBe(failure);
    await world.run({ forMs: 10 });
    expect(world.nowMs).toBe(15);
  });

  it('notices a callback that schedules itself without delay', async () => {
    const world = new SimWorld({ seed: 1 });
    const { clock } = world.host('a').runtime;
    const spin = () => clock.afterPoll(spin);
    clock.afterPoll(spin);
    await expect(world.run({ forMs: 1, maxEventsPerInstant: 10_000 })).rejects.toThrow('virtual time stands still');
  });

  it('gives the outcome of a promise that it completes', async () => {
    const world = new SimWorld({ seed: 1 });
    const { disk } = world.host('a').runtime;
    await world.complete(disk.makeDirectory('/data'));
    expect(await world.complete(disk.list('/'))).toEqual(['data']);
    await expect(world.complete(disk.list('/nowhere'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('refuses to run in the middle of a run, and beside another world', async () => {
    const world = new SimWorld({ seed: 1 });
    world.after(1, () => void world.run({ forMs: 1 }));
    await expect(world.run({ forMs: 5 })).rejects.toThrow('running already');
    const other = new SimWorld({ seed: 2 });
    const first = world.run({ forMs: 5 });
    await expect(other.run({ forMs: 5 })).rejects.toThrow('another SimWorld is running');
    await first;
  });
});

describe('a process that dies', () => {
  it('leaves nothing behind that fires or settles', async () => {
    const world = new SimWorld({ seed: 3 });
    const a = world.host('a');
    const b = world.host('b');
    await world.complete(
      b.runtime.network.listen({
        address: 'b:1',
        maxFrameBytes: 100,
        onConnection: (connection) => {
          connection.setHandler({ frame: (bytes) => connection.send(bytes), close() {} });
        },
      }),
    );
    const old = a.runtime;
    const connection = await world.complete(old.network.dial({ address: 'b:1', timeoutMs: 100, maxFrameBytes: 100 }));
    const late: string[] = [];
    connection.setHandler({ frame: () => late.push('frame'), close: () => late.push('close') });
    connection.send(Uint8Array.of(1));
    old.clock.setTimer(1, () => late.push('timer'));
    old.clock.afterPoll(() => late.push('after poll'));
    void old.disk.makeDirectory('/x').then(() => late.push('disk'));
    void old.network.dial({ address: 'b:1', timeoutMs: 5, maxFrameBytes: 100 }).finally(() => late.push('dial'));
    a.kill();
    old.clock.setTimer(1, () => late.push('timer after death'));
    void old.disk.list('/').finally(() => late.push('disk after death'));
    connection.send(Uint8Array.of(2));
    await world.run({ forMs: 100 });
    expect(late).toEqual([]);
    a.restart();
    await world.run({ forMs: 100 });
    expect(late).toEqual([]);
    expect(a.incarnation).toBe(2);
  });

  it('is seen by its peers: connections close and dials are refused', async () => {
    const world = new SimWorld({ seed: 3 });
    const server = world.host('server');
    const client = world.host('client');
    await world.complete(server.runtime.network.listen({ address: 'server:1', maxFrameBytes: 100, onConnection() {} }));
    const dial = () =>
      world.complete(client.runtime.network.dial({ address: 'server:1', timeoutMs: 100, maxFrameBytes: 100 }));
    const connection: Connection = await dial();
    const closes: string[] = [];
    connection.setHandler({ frame() {}, close: (reason) => closes.push(reason) });
    server.crash();
    await world.run({ until: () => closes.length > 0 });
    expect(connection.open).toBe(false);
    await expect(dial()).rejects.toMatchObject({ failure: 'refused' });
  });

  it('has no runtime until it is restarted', () => {
    const host = new SimWorld({ seed: 1 }).host('a');
    host.crash();
    expect(() => host.runtime).toThrow('is down');
    host.restart();
    expect(host.runtime.clock.monotonicMs()).toBeGreaterThanOrEqual(0);
    expect(() => host.restart()).toThrow('is running');
  });
});

describe('a process that is paused', () => {
  it('fires its late timers at once when it resumes, before it reads what arrived, and the check phase last', async () => {
    const world = new SimWorld({ seed: 5 });
    const server = world.host('server');
    const client = world.host('client');
    const heard: string[] = [];
    const { clock, network } = server.runtime;
    await world.complete(
      network.listen({
        address: 'server:1',
        maxFrameBytes: 100,
        onConnection: (connection) => connection.setHandler({ frame: () => heard.push('frame'), close() {} }),
      }),
    );
    const connection = await world.complete(
      client.runtime.network.dial({ address: 'server:1', timeoutMs: 100, maxFrameBytes: 100 }),
    );
    clock.setTimer(100, () => heard.push('timer 100'));
    clock.setTimer(50, () => heard.push('timer 50'));
    const cancelled = clock.setTimer(120, () => heard.push('cancelled'));
    clock.setTimer(110, () => cancelled.cancel());
    server.pause();
    connection.send(Uint8Array.of(1));
    clock.afterPoll(() => heard.push('after poll'));
    await world.run({ forMs: 1_000 });
    expect(heard).toEqual([]);
    expect(connection.bufferedBytes).toBe(1);
    server.resume();
    await world.run({ forMs: 0 });
    expect(heard).toEqual(['timer 50', 'timer 100', 'frame', 'after poll']);
    expect(connection.bufferedBytes).toBe(0);
  });

  it('accepts dials but answers nothing', async () => {
    const world = new SimWorld({ seed: 5 });
    const server = world.host('server');
    const client = world.host('client');
    let accepted = 0;
    const closes: string[] = [];
    await world.complete(
      server.runtime.network.listen({
        address: 'server:1',
        maxFrameBytes: 100,
        onConnection: (connection) => {
          accepted += 1;
          connection.setHandler({ frame() {}, close: (reason) => closes.push(reason) });
        },
      }),
    );
    server.pause();
    const dial = client.runtime.network.dial({ address: 'server:1', timeoutMs: 300, maxFrameBytes: 100 });
    await expect(world.complete(dial)).rejects.toMatchObject({ failure: 'timeout' });
    server.resume();
    await world.run({ until: () => closes.length > 0 });
    expect(accepted).toBe(1);
  });
});
