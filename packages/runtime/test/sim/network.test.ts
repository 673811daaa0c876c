import { beforeEach, describe, expect, it } from 'vitest';
import type { Connection, HttpResponse, ListenOptions } from '../../src/index.ts';
import { SimWorld } from '../../src/sim/index.ts';
import type { SimHost } from '../../src/sim/index.ts';

let world: SimWorld;
let server: SimHost;
let client: SimHost;

beforeEach(() => {
  world = new SimWorld({ seed: 11 });
  server = world.host('server');
  client = world.host('client');
});

const dial = (from = client, timeoutMs = 1_000): Promise<Connection> =>
  from.runtime.network.dial({ address: 'server:7101', timeoutMs, maxFrameBytes: 1_000 });

function listen(options: Partial<ListenOptions> = {}) {
  const accepted: Connection[] = [];
  const heard: string[] = [];
  const listening = server.runtime.network.listen({
    address: 'server:7101',
    maxFrameBytes: 1_000,
    onConnection: (connection) => {
      accepted.push(connection);
      connection.setHandler({
        frame: (bytes) => void heard.push(bytes.join()),
        close: (reason) => void heard.push(`closed: ${reason}`),
      });
    },
    ...options,
  });
  return world.complete(listening).then((listener) => ({ listener, accepted, heard }));
}

function listenTo(connection: Connection): string[] {
  const heard: string[] = [];
  connection.setHandler({
    frame: (bytes) => void heard.push(bytes.join()),
    close: (reason) => void heard.push(`closed: ${reason}`),
  });
  return heard;
}

describe('a cut link', () => {
  it('drops frames one way only, counts them, and delivers them in order when TCP sends them again after the heal', async () => {
    const { accepted, heard } = await listen();
    const near = await world.complete(dial());
    const nearHeard = listenTo(near);
    world.network.cut('client', 'server');
    for (const n of [1, 2, 3]) near.send(Uint8Array.of(n, n));
    accepted[0]?.send(Uint8Array.of(9));
    await world.run({ forMs: 10_000 });
    expect(heard).toEqual([]);
    expect(nearHeard).toEqual(['9']);
    expect(near.bufferedBytes).toBe(6);
    world.network.heal('client', 'server');
    near.send(Uint8Array.of(4));
    await world.run({ forMs: 2_000 });
    expect(heard).toEqual([]);
    expect(near.bufferedBytes).toBe(7);
    // After 200 ms, and twice as long each time: 0.2, 0.6, 1.4, 3.0, 6.2 and 12.6 s.
    await world.run({ forMs: 700 });
    expect(heard).toEqual(['1,1', '2,2', '3,3', '4']);
    expect(near.bufferedBytes).toBe(0);
  });

  it('keeps the order of frames that were under way when it was cut and healed', async () => {
    const { heard } = await listen();
    const near = await world.complete(dial());
    for (let n = 0; n < 60; n += 1) {
      world.after(n / 2, () => near.send(Uint8Array.of(n)));
      if (n % 6 === 0) world.after(n / 2, () => world.network.cut('client', 'server'));
      if (n % 6 === 1) world.after(n / 2, () => world.network.heal());
    }
    await world.run({ forMs: 300 });
    expect(heard).toEqual(Array.from({ length: 60 }, (_, n) => String(n)));
  });

  it('loses the held frames when the connection is destroyed, and tells the peer after the heal', async () => {
    const { heard } = await listen();
    const near = await world.complete(dial());
    world.network.cut('client', 'server');
    near.send(Uint8Array.of(1));
    await world.run({ forMs: 10 });
    near.destroy();
    await world.run({ forMs: 1_000 });
    expect(heard).toEqual([]);
    world.network.heal();
    await world.run({ forMs: 500 });
    expect(heard).toEqual(['closed: connection reset by peer']);
  });

  it('lets dials hang until they time out, whichever way it is cut', async () => {
    await listen();
    for (const [from, to] of [
      ['client', 'server'],
      ['server', 'client'],
    ] as const) {
      world.network.cut(from, to);
      const startMs = world.nowMs;
      await expect(world.complete(dial())).rejects.toMatchObject({ failure: 'timeout' });
      expect(world.nowMs - startMs).toBe(1_000);
      world.network.heal();
    }
  });

  it('lets a dial through that is still waiting when its opening is sent again, after a second', async () => {
    await listen();
    world.network.cut('client', 'server');
    const startMs = world.nowMs;
    world.after(500, () => world.network.heal());
    const { network } = client.runtime;
    const patient = network.dial({ address: 'server:7101', timeoutMs: 5_000, maxFrameBytes: 100 });
    expect((await world.complete(patient)).open).toBe(true);
    expect(world.nowMs - startMs).toBeGreaterThanOrEqual(1_000);
    expect(world.nowMs - startMs).toBeLessThan(1_010);
  });

  it('brings what goes the other way to a halt as well, since nobody acknowledges it', async () => {
    const { accepted, heard } = await listen();
    const near = await world.complete(dial());
    await world.run({ until: () => accepted.length > 0 });
    world.network.cut('server', 'client');
    for (let n = 0; n < 10; n += 1) world.after(n * 100, () => near.send(Uint8Array.of(n)));
    await world.run({ forMs: 2_000 });
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.length).toBeLessThan(5);
    world.network.heal();
    await world.run({ forMs: 1_500 });
    expect(heard).toEqual(Array.from({ length: 10 }, (_, n) => String(n)));
  });

  it('resets at the other side a dial that timed out while its answer was held back', async () => {
    const { heard } = await listen();
    world.network.cut('server', 'client');
    await expect(world.complete(dial())).rejects.toMatchObject({ failure: 'timeout' });
    await world.run({ forMs: 100 });
    expect(heard).toEqual(['closed: connection reset by peer']);
  });

  it('ends a close that the peer cannot answer after a while', async () => {
    await listen();
    const near = await world.complete(dial());
    const heard = listenTo(near);
    world.network.cut('client', 'server');
    near.close('good bye');
    await world.run({ forMs: 1_000 });
    expect(heard).toEqual([]);
    await world.run({ forMs: 2_000 });
    expect(heard).toEqual(['closed: good bye']);
  });
});

describe('a partition', () => {
  it('cuts between groups, joins within them, and leaves other hosts alone', async () => {
    await listen();
    const other = world.host('other');
    world.network.partition([['client'], ['server', 'other']]);
    await expect(world.complete(dial(client, 100))).rejects.toMatchObject({ failure: 'timeout' });
    expect((await world.complete(dial(other))).open).toBe(true);
    world.network.partition([['client', 'server'], ['other']]);
    expect((await world.complete(dial(client))).open).toBe(true);
    await expect(world.complete(dial(other, 100))).rejects.toMatchObject({ failure: 'timeout' });
    expect((await world.complete(dial(world.host('fourth')))).open).toBe(true);
  });

  it('names a host that does not exist', () => {
    expect(() => world.network.cut('client', 'nobody')).toThrow('"nobody"');
  });
});

describe('links', () => {
  it('take as long as they are told to', async () => {
    await listen();
    world.network.setLatency({ minMs: 40, maxMs: 40 });
    world.network.setLatency({ minMs: 10, maxMs: 10 }, 'server', 'client');
    const startMs = world.nowMs;
    await world.complete(dial());
    expect(world.nowMs - startMs).toBeGreaterThanOrEqual(50);
    expect(world.nowMs - startMs).toBeLessThan(51);
  });

  it('deliver a random part of what travelled when the sender dies, always a prefix', async () => {
    const lengths = new Set<number>();
    for (let seed = 0; seed < 30; seed += 1) {
      world = new SimWorld({ seed });
      server = world.host('server');
      client = world.host('client');
      const { heard } = await listen();
      const near = await world.complete(dial());
      for (let n = 0; n < 5; n += 1) near.send(Uint8Array.of(n));
      client.kill();
      await world.run({ forMs: 100 });
      expect(heard.pop()).toBe('closed: connection reset by peer');
      expect(heard).toEqual(['0', '1', '2', '3', '4'].slice(0, heard.length));
      lengths.add(heard.length);
    }
    expect(lengths.size).toBeGreaterThan(2);
  });

  it('share no memory between the two sides', async () => {
    const { accepted } = await listen();
    const near = await world.complete(dial());
    await world.run({ until: () => accepted.length > 0 });
    const sent = Uint8Array.of(1);
    const received: Uint8Array[] = [];
    accepted[0]?.setHandler({ frame: (bytes) => void received.push(bytes), close() {} });
    near.send(sent);
    await world.run({ until: () => received.length > 0 });
    received[0]?.fill(7);
    expect([...sent]).toEqual([1]);
  });
});

describe('a listener on a loopback address', () => {
  it('is reachable from its own host only', async () => {
    await listen({ address: '127.0.0.1:7101' });
    const { network } = server.runtime;
    const own = network.dial({ address: 'localhost:7101', timeoutMs: 100, maxFrameBytes: 100 });
    expect((await world.complete(own)).open).toBe(true);
    await expect(world.complete(dial())).rejects.toMatchObject({ failure: 'refused' });
  });
});

describe('an HTTP request', () => {
  const http = ({ target }: { target: string }): Promise<HttpResponse> =>
    target === '/broken'
      ? Promise.reject(new Error('no answer'))
      : Promise.resolve({ status: 200, contentType: 'text/plain', body: target });

  it('is answered by the handler, under the same rules as on a real port', async () => {
    await listen({ http, allowedHosts: { names: ['server'], anyAddress: false } });
    const ask = (target: string, more: object = {}) =>
      world.complete(client.request('server:7101', { target, ...more }));
    expect(await ask('/status')).toMatchObject({ status: 200, body: '/status' });
    expect((await ask('/broken')).status).toBe(500);
    expect((await ask('/status', { method: 'POST' })).status).toBe(405);
    expect((await ask('/status', { hostHeader: 'evil.example' })).status).toBe(403);
  });

  it('fails as a dial does when nobody answers', async () => {
    await expect(world.complete(client.request('server:7101', { target: '/' }))).rejects.toMatchObject({
      failure: 'refused',
    });
    await listen({ http });
    server.pause();
    await expect(world.complete(client.request('server:7101', { target: '/' }))).rejects.toMatchObject({
      failure: 'timeout',
    });
  });
});
