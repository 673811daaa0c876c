import { describe, expect, it } from 'vitest';
import type { Connection } from '../../src/index.ts';
import { listenTo, twoHosts } from './support/two-hosts.ts';

const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n));

describe('a link of limited bandwidth', () => {
  const frame = (n: number, bytes: number): Uint8Array => Uint8Array.of(n, ...new Uint8Array(bytes - 1));

  it('carries so many bytes a second one way, in order, and counts what it delays', async () => {
    const { world, accepted, heard, dial, struck } = await twoHosts();
    const near = await world.complete(dial());
    const back = listenTo(near);
    world.network.limitBandwidth('client', 'server', 1_000);
    for (let n = 0; n < 5; n += 1) near.send(frame(n, 100));
    accepted[0]?.send(Uint8Array.of(7));
    await world.run({ forMs: 90 });
    expect([heard, back]).toEqual([[], ['7']]);
    expect(near.bufferedBytes).toBe(500);
    await world.run({ forMs: 20 });
    expect(heard).toHaveLength(1);
    await world.run({ forMs: 380 });
    expect(heard).toHaveLength(4);
    await world.run({ forMs: 30 });
    expect(heard.map((each) => each.split(',')[0])).toEqual(numbers(5));
    expect(struck('bytes-delayed')).toBe(500);
    expect(near.bufferedBytes).toBe(0);
  });

  it('has its connections take turns', async () => {
    const { world, heard, dial } = await twoHosts();
    const [long, short] = [await world.complete(dial()), await world.complete(dial())];
    world.network.limitBandwidth('client', 'server', 1_000);
    for (let n = 0; n < 50; n += 1) long.send(frame(1, 100));
    short.send(frame(2, 100));
    await world.run({ forMs: 300 });
    expect(heard.some((each) => each.startsWith('2'))).toBe(true);
    expect(heard.length).toBeLessThan(4);
  });

  it.each(['limitBandwidth', 'heal'] as const)('lets pass at once what waits, when it ends (%s)', async (how) => {
    const { world, heard, dial, struck } = await twoHosts();
    const near = await world.complete(dial());
    world.network.limitBandwidth('client', 'server', 10);
    for (let n = 0; n < 5; n += 1) near.send(frame(n, 100));
    await world.run({ forMs: 1_000 });
    expect(heard).toEqual([]);
    if (how === 'heal') world.network.heal();
    else world.network.limitBandwidth('client', 'server', undefined);
    await world.run({ forMs: 5 });
    expect(heard).toHaveLength(5);
    const counted = struck('bytes-delayed');
    near.send(frame(5, 100));
    await world.run({ forMs: 5 });
    expect(heard).toHaveLength(6);
    expect(struck('bytes-delayed')).toBe(counted);
  });

  it('drops what waits when it is cut by then, and sends it again', async () => {
    const { world, heard, dial } = await twoHosts();
    const near = await world.complete(dial());
    world.network.limitBandwidth('client', 'server', 1_000);
    near.send(frame(1, 100));
    await world.run({ forMs: 50 });
    world.network.cut('client', 'server');
    await world.run({ forMs: 100 });
    world.network.heal('client', 'server');
    expect(heard).toEqual([]);
    await world.run({ forMs: 200 });
    expect(heard).toEqual([]);
    await world.run({ forMs: 200 });
    expect(heard).toHaveLength(1);
  });

  it('takes no bandwidth that nothing could pass with', async () => {
    const { world } = await twoHosts();
    for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => world.network.limitBandwidth('client', 'server', wrong)).toThrow('bandwidth');
    }
  });
});

describe('a clogged link', () => {
  it('holds what is sent, dials included, until its time is over, and then delivers in order', async () => {
    const { world, client, accepted, heard, dial, struck } = await twoHosts();
    const near = await world.complete(dial());
    world.network.clog('client', 'server', 3_000);
    const dialled = dial({ timeoutMs: 10_000 });
    for (let n = 0; n < 20; n += 1) world.after(n * 100, () => near.send(Uint8Array.of(n)));
    await world.run({ forMs: 2_999 });
    expect(heard).toEqual([]);
    expect(accepted).toHaveLength(1);
    expect(near.bufferedBytes).toBe(20);
    await world.complete(dialled);
    await world.run({ forMs: 10 });
    expect(heard).toEqual(numbers(20));
    expect(near.open).toBe(true);
    expect(client.state).toBe('up');
    expect(struck('frame-held-by-clog')).toBe(21);
    expect(struck('frame-held-by-cut')).toBe(0);
  });

  it('works the other way', async () => {
    const { world, accepted, dial } = await twoHosts();
    const near = await world.complete(dial());
    const heard = listenTo(near);
    world.network.clog('client', 'server', 1_000);
    accepted[0]?.send(Uint8Array.of(7));
    await world.run({ forMs: 100 });
    expect(heard).toEqual(['7']);
  });

  it('stays blocked until the last of several clogs is over', async () => {
    const { world, heard, dial } = await twoHosts();
    const near = await world.complete(dial());
    world.network.clog('client', 'server', 500);
    world.network.clog('client', 'server', 200);
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 499 });
    expect(heard).toEqual([]);
    await world.run({ forMs: 10 });
    expect(heard).toEqual(['1']);
  });

  it('drops what it lets go when it is cut by then', async () => {
    const { world, heard, dial, struck } = await twoHosts();
    const near = await world.complete(dial());
    world.network.clog('client', 'server', 100);
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 50 });
    world.network.cut('client', 'server');
    await world.run({ forMs: 100 });
    world.network.heal('client', 'server');
    await world.run({ forMs: 100 });
    expect(heard).toEqual([]);
    await world.run({ forMs: 100 });
    expect(heard).toEqual(['1']);
    expect(struck('frame-held-by-clog')).toBe(1);
  });

  it('refuses a time that has no end', async () => {
    const { world } = await twoHosts();
    expect(() => world.network.clog('client', 'server', Infinity)).toThrow('Infinity');
    expect(() => world.network.clog('client', 'nobody', 1)).toThrow('"nobody"');
  });
});

describe('a link that loses packets', () => {
  it('delivers everything late, once and in order, dials included', async () => {
    const { world, accepted, heard, dial, struck } = await twoHosts();
    world.network.setPacketLoss(0.5);
    const near = await world.complete(dial({ timeoutMs: 60_000 }));
    const nearHeard = listenTo(near);
    for (let n = 0; n < 30; n += 1) {
      near.send(Uint8Array.of(n));
      accepted[0]?.send(Uint8Array.of(n));
      await world.run({ forMs: 100 });
    }
    world.network.heal();
    await world.run({ forMs: 120_000 });
    expect(heard).toEqual(numbers(30));
    expect(nearHeard).toEqual(numbers(30));
    expect(near.open).toBe(true);
    expect(struck('packet-dropped')).toBeGreaterThan(5);
    expect(() => world.network.setPacketLoss(2)).toThrow('from 0 to 1');
  });
});

describe('hosts that are swizzled', () => {
  it('are clogged one by one, freed one by one, and lose nothing', async () => {
    const { world, heard, dial, struck } = await twoHosts();
    const others = ['a', 'b', 'c'].map((name) => world.host(name));
    const connections: Connection[] = [];
    for (const from of others) connections.push(await world.complete(dial({ from })));
    world.network.swizzle(['a', 'b', 'c'], 10_000, world.random('swizzle'));
    const arrivals: number[] = [];
    for (let second = 0; second < 12; second += 1) {
      for (const connection of connections) connection.send(Uint8Array.of(second));
      await world.run({ forMs: 1_000 });
      arrivals.push(heard.length);
    }
    expect(arrivals[5]).toBeLessThan(18);
    expect(arrivals.at(-1)).toBe(36);
    for (const second of numbers(12)) expect(heard.filter((each) => each === second)).toHaveLength(3);
    expect(struck('frame-held-by-clog')).toBeGreaterThan(5);
    expect(new Set(arrivals).size).toBeGreaterThan(4);
    expect(() => world.network.swizzle(['nobody'], 1, world.random('swizzle'))).toThrow('"nobody"');
  });
});

describe('breaking the connections of two hosts', () => {
  it('resets each of them on both sides, whoever dialled, and says how many', async () => {
    const { world, accepted, heard, dial, struck } = await twoHosts();
    const near = await world.complete(dial());
    const second = await world.complete(dial());
    const other = await world.complete(dial({ from: world.host('other') }));
    const nearHeard = [near, second].map((connection) => listenTo(connection));
    await world.run({ until: () => accepted.length === 3 });
    expect(world.network.breakConnections('server', 'client')).toBe(2);
    await world.run({ forMs: 10 });
    expect(nearHeard).toEqual([['closed: connection reset'], ['closed: connection reset']]);
    expect(heard).toEqual(['closed: connection reset', 'closed: connection reset']);
    expect(accepted.map((connection) => connection.open)).toEqual([false, false, true]);
    expect(other.open).toBe(true);
    expect(world.network.breakConnections('client', 'server')).toBe(0);
    expect(struck('connection-broken')).toBe(2);
  });

  it('delivers a prefix of what travelled, nothing that was sent later, and the end once', async () => {
    const delivered = new Set<number>();
    for (let seed = 0; seed < 30; seed += 1) {
      const { world, heard, dial, struck } = await twoHosts(seed);
      const near = await world.complete(dial());
      const nearHeard = listenTo(near);
      for (let n = 0; n < 5; n += 1) near.send(Uint8Array.of(n));
      world.network.breakConnections('client', 'server');
      near.send(Uint8Array.of(99));
      near.close('too late');
      await world.run({ forMs: 5_000 });
      expect(heard.at(-1)).toBe('closed: connection reset');
      const frames = heard.slice(0, -1);
      expect(frames).toEqual(numbers(5).slice(0, frames.length));
      expect(nearHeard).toHaveLength(1);
      expect(frames.length + struck('frame-lost')).toBe(6);
      delivered.add(frames.length);
    }
    expect(delivered.size).toBeGreaterThan(2);
  });

  it('tells a server whose client dies before it has heard of the reset', async () => {
    const { world, client, accepted, heard, dial } = await twoHosts();
    await world.complete(dial());
    await world.run({ until: () => accepted.length === 1 });
    world.network.breakConnections('client', 'server');
    client.kill();
    await world.run({ forMs: 100 });
    expect(heard).toEqual(['closed: connection reset']);
  });

  it('settles nothing for a client that died between the acceptance of its dial and its hearing of it', async () => {
    const { world, client, accepted, heard, dial } = await twoHosts();
    let settled = false;
    void dial().finally(() => (settled = true));
    await world.run({ until: () => accepted.length === 1 });
    client.kill();
    await world.run({ forMs: 2_000 });
    expect(settled).toBe(false);
    expect(heard).toEqual(['closed: connection reset by peer']);
  });

  it('fails a dial that was accepted but has not heard so', async () => {
    let failed = 0;
    for (let seed = 0; seed < 20; seed += 1) {
      const { world, accepted, dial } = await twoHosts(seed);
      const outcome = dial().then(
        () => 'connected',
        (error: unknown) => error,
      );
      await world.run({ until: () => accepted.length === 1 });
      expect(world.network.breakConnections('client', 'server')).toBe(1);
      const startMs = world.nowMs;
      const settled = await world.complete(outcome);
      expect(world.nowMs - startMs).toBeLessThan(100);
      if (settled === 'connected') continue;
      failed += 1;
      expect(settled).toMatchObject({ failure: 'failed' });
    }
    expect(failed).toBeGreaterThan(0);
  });
});

describe('links that lose connections', () => {
  it('break a connection at a frame, and never reorder, repeat or skip one', async () => {
    const { world, heard, dial, struck } = await twoHosts();
    world.network.setConnectionLoss(0.1);
    const lengths: number[] = [];
    for (let round = 0; round < 30; round += 1) {
      const near = await world.complete(dial());
      const before = heard.length;
      for (let n = 0; near.open && n < 100; n += 1) {
        near.send(Uint8Array.of(n));
        await world.run({ forMs: 1 });
      }
      near.destroy();
      await world.run({ forMs: 20 });
      const frames = heard.slice(before, -1);
      expect(frames).toEqual(numbers(frames.length));
      lengths.push(frames.length);
    }
    expect(struck('connection-broken')).toBeGreaterThan(25);
    expect(struck('frame-lost')).toBeGreaterThanOrEqual(struck('connection-broken'));
    expect(new Set(lengths).size).toBeGreaterThan(8);
  });

  it('do so one way only when told so, and not at all after a heal', async () => {
    const { world, accepted, heard, dial } = await twoHosts();
    world.network.setConnectionLoss(1, 'client', 'server');
    const near = await world.complete(dial());
    const nearHeard = listenTo(near);
    await world.run({ until: () => accepted.length === 1 });
    accepted[0]?.send(Uint8Array.of(1));
    await world.run({ forMs: 10 });
    expect(nearHeard).toEqual(['1']);
    near.send(Uint8Array.of(2));
    await world.run({ forMs: 10 });
    expect(nearHeard.at(-1)).toBe('closed: connection reset');
    expect(heard).toEqual(['closed: connection reset']);
    world.network.heal();
    const healed = await world.complete(dial());
    healed.send(Uint8Array.of(3));
    await world.run({ forMs: 10 });
    expect(heard.at(-1)).toBe('3');
    expect(() => world.network.setConnectionLoss(2)).toThrow('from 0 to 1');
  });
});

describe('dials that are made to fail', () => {
  it('are refused as if nothing listened, or hang until they time out, while open connections live on', async () => {
    const { world, client, heard, dial, struck } = await twoHosts();
    const near = await world.complete(dial());
    world.network.setDials('refused', 'client', 'server');
    await expect(world.complete(dial())).rejects.toMatchObject({ failure: 'refused' });
    await expect(world.complete(client.request('server:7101', { target: '/' }))).rejects.toMatchObject({
      failure: 'refused',
    });
    expect((await world.complete(dial({ from: world.host('other') }))).open).toBe(true);
    world.network.setDials('hanging');
    const startMs = world.nowMs;
    await expect(world.complete(dial())).rejects.toMatchObject({ failure: 'timeout' });
    await expect(world.complete(dial({ from: world.host('third'), timeoutMs: 50 }))).rejects.toMatchObject({
      failure: 'timeout',
    });
    expect(world.nowMs - startMs).toBe(1_050);
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 10 });
    expect(heard).toEqual(['1']);
    expect([struck('dial-refused'), struck('dial-hung')]).toEqual([2, 2]);
    world.network.heal();
    expect((await world.complete(dial())).open).toBe(true);
  });

  it('did not strike when nothing listened anyway', async () => {
    const { world, client, struck } = await twoHosts();
    world.network.setDials('refused');
    const nowhere = client.runtime.network.dial({ address: 'server:1', timeoutMs: 100, maxFrameBytes: 100 });
    await expect(world.complete(nowhere)).rejects.toMatchObject({ failure: 'refused' });
    expect(struck('dial-refused')).toBe(0);
  });
});

describe('a heal of the whole network', () => {
  it('ends every fault but keeps latencies', async () => {
    const { world, heard, dial } = await twoHosts();
    const near = await world.complete(dial());
    const { network } = world;
    network.setLatency({ minMs: 40, maxMs: 40 });
    network.setConnectionLoss(1);
    network.setDials('hanging');
    network.cut('server', 'client');
    network.clog('client', 'server', 100_000);
    network.heal();
    near.send(Uint8Array.of(1));
    const startMs = world.nowMs;
    await world.complete(dial({ from: world.host('new') }));
    expect(world.nowMs - startMs).toBeGreaterThanOrEqual(80);
    expect(heard).toEqual(['1']);
  });
});

describe('latencies', () => {
  it('with a mean have that mean, a long tail, and stay within their bounds', async () => {
    const { world, accepted, dial } = await twoHosts();
    world.network.setLatency({ minMs: 1, meanMs: 5, maxMs: 200 }, 'client', 'server');
    const near = await world.complete(dial());
    await world.run({ until: () => accepted.length === 1 });
    const tookMs: number[] = [];
    for (let n = 0; n < 2_000; n += 1) {
      const sentMs = world.nowMs;
      let arrived = false;
      accepted[0]?.setHandler({ frame: () => (arrived = true), close() {} });
      near.send(Uint8Array.of(0));
      await world.run({ until: () => arrived });
      tookMs.push(world.nowMs - sentMs);
    }
    const meanMs = tookMs.reduce((sum, each) => sum + each, 0) / tookMs.length;
    expect(meanMs).toBeGreaterThan(4.5);
    expect(meanMs).toBeLessThan(5.5);
    expect(Math.min(...tookMs)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...tookMs)).toBeGreaterThan(20);
    expect(tookMs.filter((each) => each > 5).length / tookMs.length).toBeLessThan(0.45);
  });

  it('that make no sense are refused', async () => {
    const { world } = await twoHosts();
    for (const latency of [
      { minMs: 2, maxMs: 1 },
      { minMs: -1, maxMs: 1 },
      { minMs: 1, meanMs: 0.5, maxMs: 2 },
      { minMs: 0, maxMs: Infinity },
      { minMs: NaN, maxMs: 1 },
    ]) {
      expect(() => world.network.setLatency(latency)).toThrow('minMs <= meanMs <= maxMs');
    }
  });
});
