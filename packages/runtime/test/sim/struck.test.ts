import { describe, expect, it } from 'vitest';
import { STRUCK_FAULTS, SimWorld } from '../../src/sim/index.ts';
import type { StruckFault } from '../../src/sim/index.ts';
import { listenTo, twoHosts } from './support/two-hosts.ts';

/** Those that have struck. */
function nonZero(world: SimWorld): Partial<Record<StruckFault, number>> {
  return Object.fromEntries([...world.struck].filter(([, count]) => count > 0));
}

async function openFile() {
  const world = new SimWorld({ seed: 1 });
  const host = world.host('a');
  await world.complete(host.runtime.disk.makeDirectory('/data'));
  const file = await world.complete(host.runtime.disk.open('/data/file', 'create'));
  return { world, host, file };
}

describe('what really struck', () => {
  it('has a count for every fault, all 0 in a world without faults', async () => {
    const { world, heard, dial } = await twoHosts();
    const near = await world.complete(dial());
    near.send(Uint8Array.of(1));
    near.close();
    await world.run({ forMs: 5_000 });
    expect(heard).toHaveLength(2);
    expect([...world.struck.keys()]).toEqual([...STRUCK_FAULTS]);
    expect(nonZero(world)).toEqual({});
  });

  it('counts nothing of faults that met nobody', async () => {
    const { world, client, server, dial } = await twoHosts();
    await world.complete(dial());
    await world.run({ forMs: 100 });
    world.network.cut('client', 'server');
    world.network.clog('server', 'client', 100);
    world.network.setConnectionLoss(1);
    world.network.setPacketLoss(1);
    world.network.setDials('refused');
    world.host('nobody');
    world.network.breakConnections('client', 'nobody');
    client.disk.failNext('append', 'IO');
    client.disk.stall(100);
    client.disk.setFreeBytes(0);
    client.disk.slow({ durable: { minMs: 100, maxMs: 200 } });
    world.network.slow({ minMs: 100, maxMs: 200 });
    client.jumpWall(1_000);
    client.setClockRate(2);
    client.setWallRate(0.5);
    server.pause();
    await world.run({ forMs: 1_000 });
    server.resume();
    await world.run({ forMs: 1_000 });
    expect(nonZero(world)).toEqual({});
  });

  it('counts frames that a cut held, each once, also over several cuts', async () => {
    const { world, heard, dial } = await twoHosts();
    const near = await world.complete(dial());
    for (const n of [0, 1, 2]) near.send(Uint8Array.of(n));
    world.network.cut('client', 'server');
    await world.run({ forMs: 10 });
    near.send(Uint8Array.of(3));
    world.network.heal();
    world.network.cut('client', 'server');
    await world.run({ forMs: 10 });
    await world.run({ forMs: 300 });
    world.network.heal();
    await world.run({ forMs: 500 });
    expect(heard).toHaveLength(4);
    expect(nonZero(world)).toEqual({ 'frame-held-by-cut': 4, 'retransmission-lost': 1 });
  });

  it('counts frames that took longer than their link lets them otherwise, while all links are slow', async () => {
    const { world, heard, dial } = await twoHosts();
    world.network.setLatency({ minMs: 40, maxMs: 50 });
    const near = await world.complete(dial());
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 100 });
    expect(nonZero(world)).toEqual({});
    world.network.slow({ minMs: 45, maxMs: 50 });
    near.send(Uint8Array.of(2));
    await world.run({ forMs: 100 });
    expect(nonZero(world)).toEqual({});
    world.network.slow({ minMs: 60, maxMs: 60 });
    for (const n of [3, 4]) near.send(Uint8Array.of(n));
    await world.run({ forMs: 55 });
    expect(heard).toEqual(['1', '2']);
    await world.run({ forMs: 10 });
    expect(heard).toEqual(['1', '2', '3', '4']);
    expect(nonZero(world)).toEqual({ 'frame-slowed': 2 });
    world.network.slow(undefined);
    near.send(Uint8Array.of(5));
    await world.run({ forMs: 55 });
    expect(heard).toHaveLength(5);
    expect(nonZero(world)).toEqual({ 'frame-slowed': 2 });
    expect(() => world.network.slow({ minMs: 2, maxMs: 1 })).toThrow('minMs <= meanMs <= maxMs');
  });

  it('counts what a lossy link drops, each time, and not as held by a cut', async () => {
    const { world, heard, dial } = await twoHosts();
    const near = await world.complete(dial());
    world.network.setPacketLoss(1, 'client', 'server');
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 50 });
    near.send(Uint8Array.of(2));
    // Sent again after 200 and 400 ms.
    await world.run({ forMs: 650 });
    expect(nonZero(world)).toEqual({ 'packet-dropped': 3 });
    world.network.setPacketLoss(0, 'client', 'server');
    await world.run({ forMs: 700 });
    expect(heard).toEqual([]);
    await world.run({ forMs: 200 });
    expect(heard).toEqual(['1', '2']);
    expect(nonZero(world)).toEqual({ 'packet-dropped': 3 });
  });

  it('counts what waits for a repeat as held by a cut as soon as a cut drops that', async () => {
    const { world, dial } = await twoHosts();
    const near = await world.complete(dial());
    world.network.setPacketLoss(1, 'client', 'server');
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 50 });
    world.network.setPacketLoss(0, 'client', 'server');
    world.network.cut('client', 'server');
    await world.run({ forMs: 200 });
    expect(nonZero(world)).toEqual({ 'packet-dropped': 1, 'frame-held-by-cut': 1, 'retransmission-lost': 1 });
  });

  it('counts frames that died with their sender', async () => {
    let lost = 0;
    for (let seed = 0; seed < 20; seed += 1) {
      const { world, client, heard, dial, struck } = await twoHosts(seed);
      const near = await world.complete(dial());
      for (let n = 0; n < 5; n += 1) near.send(Uint8Array.of(n));
      client.kill();
      await world.run({ forMs: 10 });
      expect(heard.length - 1 + struck('frame-lost')).toBe(5);
      expect(struck('kill')).toBe(1);
      lost += struck('frame-lost');
    }
    expect(lost).toBeGreaterThan(10);
  });

  it('counts operations of a disk that failed, ran out of space, were slow or hung', async () => {
    const { world, host, file } = await openFile();
    const { disk } = host;
    const bytes = Uint8Array.of(1, 2, 3, 4);
    const fails = (promise: Promise<unknown>) => expect(world.complete(promise)).rejects.toThrow('data');
    disk.failNext('append', 'IO');
    await fails(file.append(0, [bytes]));
    disk.failNext('write', 'IO', { writtenShare: 0.5 });
    await fails(file.write(0, bytes));
    disk.failNext('sync', 'IO');
    await fails(file.sync());
    disk.failNext('syncDirectory', 'IO');
    await fails(host.runtime.disk.syncDirectory('/data'));
    disk.failNext('read', 'IO');
    await fails(file.read(0, 1));
    disk.failNext('rename', 'IO');
    await fails(host.runtime.disk.rename('/data/file', '/data/other'));
    disk.setFreeBytes(1);
    await fails(file.append(4, [bytes]));
    disk.stall(100);
    await world.complete(file.sync());
    disk.setLatency({ durable: { minMs: 10, maxMs: 10 } });
    await world.complete(file.sync());
    disk.slow({ durable: { minMs: 100, maxMs: 200 }, cached: { minMs: 1, maxMs: 1 } });
    await world.complete(file.sync());
    await world.complete(file.size());
    disk.slow(undefined);
    await world.complete(file.sync());
    expect(nonZero(world)).toEqual({
      'write-failed': 1,
      'write-partly-done': 1,
      'sync-failed': 2,
      'read-failed': 1,
      'disk-operation-failed': 1,
      'no-space': 1,
      'sync-stalled': 1,
      'sync-slowed': 1,
      'disk-operation-slowed': 1,
    });
  });

  it('counts what a power failure took and tore', async () => {
    const { world, host, file } = await openFile();
    await world.complete(host.runtime.disk.syncDirectory('/data'));
    await world.complete(file.append(0, [new Uint8Array(4_096)]));
    void file.write(0, new Uint8Array(4_096).fill(1));
    void file.truncate(1);
    await world.complete(host.runtime.disk.open('/data/new', 'create'));
    host.crash();
    expect(nonZero(world)).toEqual({ crash: 1, 'unsynced-change-lost': 2, 'unsynced-name-lost': 1 });
    host.restart();
    const again = await world.complete(host.runtime.disk.open('/data/file', 'existing'));
    void again.write(0, new Uint8Array(512 * 64).fill(1));
    host.crash({ tear: 'random' });
    expect(nonZero(world)).toMatchObject({ crash: 2, restart: 1, 'unsynced-change-torn': 1 });
    host.restart();
    host.crash();
    host.crash();
    expect(world.struck.get('crash')).toBe(3);
  });

  it('counts a flipped bit once it is read, and not when it was overwritten first', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [new Uint8Array(10)]));
    for (const offset of [1, 5, 6]) host.disk.flipBit('/data/file', offset);
    await world.complete(file.write(6, Uint8Array.of(0)));
    host.disk.bytes('/data/file');
    await world.complete(file.read(2, 3));
    expect(nonZero(world)).toEqual({});
    await world.complete(file.read(0, 3));
    expect(nonZero(world)).toEqual({ 'flipped-bit-read': 1 });
    await world.complete(host.runtime.disk.readFile('/data/file'));
    await world.complete(host.runtime.disk.readFile('/data/file'));
    expect(nonZero(world)).toEqual({ 'flipped-bit-read': 2 });
  });

  it('counts timers and input that were late after a pause, but no cancelled timer', async () => {
    const { world, client, accepted, dial } = await twoHosts();
    const near = await world.complete(dial());
    const heard = listenTo(near);
    await world.run({ until: () => accepted.length === 1 });
    const { clock } = client.runtime;
    const fired: number[] = [];
    const cancelled = clock.setTimer(5, () => fired.push(0));
    clock.setTimer(10, () => fired.push(1));
    clock.setTimer(500, () => fired.push(2));
    cancelled.cancel();
    client.pause();
    accepted[0]?.send(Uint8Array.of(1));
    await world.run({ forMs: 100 });
    expect(nonZero(world)).toEqual({});
    client.resume();
    await world.run({ forMs: 1_000 });
    expect([fired, heard]).toEqual([[1, 2], ['1']]);
    expect(nonZero(world)).toEqual({ 'timer-late-after-pause': 1, 'io-late-after-pause': 1 });
  });

  it('counts jumps and rates of clocks once a program has looked at them', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('a');
    const { clock } = host.runtime;
    host.jumpWall(1_000);
    host.jumpWall(-500);
    expect(nonZero(world)).toEqual({});
    clock.wallMs();
    clock.wallMs();
    expect(nonZero(world)).toEqual({ 'wall-jump': 2 });
    host.setWallRate(1.5);
    clock.wallMs();
    host.setClockRate(1.5);
    clock.monotonicMs();
    clock.monotonicMs();
    expect(nonZero(world)).toEqual({ 'wall-jump': 2, 'clock-rate': 2 });
    clock.setTimer(5, () => {});
    host.setClockRate(2);
    await world.run({ forMs: 10 });
    host.setClockRate(1);
    clock.monotonicMs();
    expect(nonZero(world)).toEqual({ 'wall-jump': 2, 'clock-rate': 3 });
  });
});
