import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_WAITING_BYTES } from '../../../../src/targets/live/network/proxy/flow.ts';
import { Heard, ProxiedWorld } from './proxied-world.ts';

let world: ProxiedWorld;

beforeEach(async () => {
  world = await ProxiedWorld.open();
});

afterEach(() => world.close());

/** Longer than anything that is not held takes to arrive. */
const A_WHILE_MS = 60;
const THERE = ['a', 'b'] as const;
const BACK = ['b', 'a'] as const;

async function aWhile(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, A_WHILE_MS));
}

async function until(condition: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(condition()).toBe(true), { timeout: 20_000, interval: 5 });
}

describe('a proxied connection', () => {
  it('carries bytes both ways', async () => {
    const { a, b } = await world.connect();
    const [atA, atB] = [new Heard(a), new Heard(b)];
    a.write('there');
    b.write('back');
    await until(() => atA.text === 'back' && atB.text === 'there');
    expect(world.struck.size).toBe(0);
  });

  it('ends one way and goes on the other', async () => {
    const { a, b } = await world.connect();
    const [atA, atB] = [new Heard(a), new Heard(b)];
    a.end('last');
    await until(() => atB.ended);
    expect(atB.text).toBe('last');
    b.write('still here');
    await until(() => atA.text === 'still here');
    expect(atA.ended).toBe(false);
    b.end();
    await until(() => atA.ended && a.closed && b.closed);
  });

  it('is reset at the other end when one end is reset', async () => {
    const { a, b } = await world.connect();
    const failed = once(b, 'error');
    b.resume();
    a.resetAndDestroy();
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
  });

  it('makes a sender wait for a reader that reads nothing, and keeps no more than its bound', async () => {
    const { a, b } = await world.connect();
    b.pause();
    const chunk = Buffer.alloc(64 * 1024);
    let sent = 0;
    let most = 0;
    // More than all buffers on the way hold together.
    const total = 64 * 1024 * 1024;
    const pump = (): void => {
      while (sent < total) {
        sent += chunk.length;
        if (!a.write(chunk)) return;
      }
    };
    a.on('drain', pump);
    pump();
    let before = -1;
    while (before !== sent) {
      before = sent;
      await aWhile();
      most = Math.max(most, world.proxy.waitingBytes);
    }
    expect(sent).toBeLessThan(total);
    expect(most).toBeLessThanOrEqual(MAX_WAITING_BYTES + chunk.length);
    let arrived = 0;
    b.on('data', (bytes: Buffer) => {
      arrived += bytes.length;
      most = Math.max(most, world.proxy.waitingBytes);
    }).resume();
    await until(() => arrived === total);
    expect(most).toBeLessThanOrEqual(MAX_WAITING_BYTES + chunk.length);
    expect(world.proxy.waitingBytes).toBe(0);
  });
});

describe('a slow link', () => {
  it('takes at least its time, keeps the order, and is counted; healed, it takes none', async () => {
    world.close();
    let draws: number[] = [];
    world = await ProxiedWorld.open(() => draws.shift() ?? 0);
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    // Two a chunk: whether it breaks the connection, and how long it takes.
    draws = [0, 0.99, 0, 0, 0, 0.5, 0, 0.1];
    world.proxy.obey({ act: 'slow', latency: { minMs: 30, maxMs: 90 } });
    const startedAt = performance.now();
    for (const word of ['one ', 'two ', 'three ', 'four']) {
      a.write(word);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await until(() => atB.text !== '');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
    await until(() => atB.text === 'one two three four');
    expect(world.count('frame-slowed')).toBeGreaterThan(0);
    world.proxy.obey({ act: 'slow', latency: undefined });
    const counted = world.count('frame-slowed');
    a.write('!');
    await until(() => atB.text.endsWith('!'));
    expect(world.count('frame-slowed')).toBe(counted);
  });

  it('delays an end and a dial, too', async () => {
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    world.proxy.obey({ act: 'slow', latency: { minMs: 40, maxMs: 41 } });
    const startedAt = performance.now();
    a.end('bye');
    const dialled = world.dial().then(() => performance.now() - startedAt);
    await until(() => atB.ended);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(39);
    // Both ways.
    expect(await dialled).toBeGreaterThanOrEqual(78);
  });
});

describe('a link that loses packets', () => {
  it('makes wait what TCP would send again, longer when that is lost as well, and keeps the order', async () => {
    world.close();
    let draws: number[] = [];
    world = await ProxiedWorld.open(() => draws.shift() ?? 1);
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    world.proxy.obey({ act: 'drop', share: 0.2 });
    // Whether it breaks the connection, and then, as long as it is dropped, whether it is.
    draws = [1, 0.1, 0.1, 1];
    const startedAt = performance.now();
    a.write('late ');
    await until(() => world.count('packet-dropped') === 2);
    a.write('on time');
    await until(() => atB.text === 'late on time');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(599);
    expect([...world.struck.keys()]).toEqual(['packet-dropped']);
  });
});

describe('a link of limited bandwidth', () => {
  const limit = (bytesPerSecond: number | undefined): void =>
    world.proxy.obey({ act: 'limit', from: 'a', to: 'b', bytesPerSecond });

  it('lets so many bytes pass in a second, in order, counts them, and is as fast as ever the other way', async () => {
    const { a, b } = await world.connect();
    const [atA, atB] = [new Heard(a), new Heard(b)];
    limit(20_000);
    const startedAt = performance.now();
    const sent = 'one '.repeat(1_000) + 'last';
    a.end(sent);
    b.write('back');
    await until(() => atA.text === 'back');
    expect(atB.text.length).toBeLessThan(sent.length);
    await until(() => atB.ended);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual((1_000 * sent.length) / 20_000 - 1);
    expect(atB.text).toBe(sent);
    expect([...world.struck]).toEqual([['bytes-delayed', sent.length]]);
  });

  it('has its connections take turns, so that a long message does not hold up a short one', async () => {
    const [long, short] = [await world.connect(), await world.connect()];
    const [atLong, atShort] = [new Heard(long.b), new Heard(short.b)];
    limit(20_000);
    const message = 'x'.repeat(20_000);
    long.a.write(message);
    await until(() => atLong.text !== '');
    short.a.write('short');
    await until(() => atShort.text === 'short');
    expect(atLong.text.length).toBeLessThan(message.length / 2);
  });

  it('lets everything pass at once when the limit is gone, and counts nothing any more', async () => {
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    limit(100);
    const startedAt = performance.now();
    a.write('x'.repeat(5_000));
    await aWhile();
    limit(undefined);
    await until(() => atB.text.length === 5_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    const counted = world.count('bytes-delayed');
    a.write('!');
    await until(() => atB.text.endsWith('!'));
    expect(world.count('bytes-delayed')).toBe(counted);
  });

  it('is healed with everything else', async () => {
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    limit(1);
    a.write('x'.repeat(5_000));
    await aWhile();
    world.proxy.obey({ act: 'heal' });
    await until(() => atB.text.length === 5_000);
  });
});

describe('a link that is held', () => {
  it('delivers after a clog what was sent meanwhile, in order, and the other way at once', async () => {
    const { a, b } = await world.connect();
    const [atA, atB] = [new Heard(a), new Heard(b)];
    world.proxy.obey({ act: 'clog', from: 'a', to: 'b', forMs: 400 });
    const startedAt = performance.now();
    a.write('1');
    await new Promise((resolve) => setTimeout(resolve, 5));
    a.write('2');
    b.write('back');
    await until(() => atA.text === 'back');
    await until(() => atB.text === '12');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(399);
    expect(world.count('frame-held-by-clog')).toBeGreaterThan(0);
    expect(world.count('frame-held-by-cut')).toBe(0);
  });

  it('is silent while it is cut, and keeps its connections', async () => {
    const { a, b } = await world.connect();
    const [atA, atB] = [new Heard(a), new Heard(b)];
    world.proxy.obey({ act: 'cut', pairs: [THERE, BACK] });
    a.write('there');
    b.end('back');
    await until(() => world.count('frame-held-by-cut') >= 2);
    await aWhile();
    expect([atA.text, atB.text, atA.ended]).toEqual(['', '', false]);
    world.proxy.obey({ act: 'mend', pairs: [BACK] });
    await until(() => atA.ended);
    expect([atA.text, atB.text]).toEqual(['back', '']);
    world.proxy.obey({ act: 'heal' });
    await until(() => atB.text === 'there');
  });

  it('hides the end of a process behind a cut until it is mended', async () => {
    const { a, b } = await world.connect();
    let failed = false;
    b.on('error', () => (failed = true)).resume();
    world.proxy.obey({ act: 'cut', pairs: [THERE] });
    a.resetAndDestroy();
    await until(() => world.count('frame-held-by-cut') === 1);
    expect(failed).toBe(false);
    world.proxy.obey({ act: 'mend', pairs: [THERE] });
    await until(() => failed);
  });

  it.each([
    ['on the way there', THERE],
    ['on the way back', BACK],
  ])('keeps a dial waiting that it holds %s', async (_where, pair) => {
    world.proxy.obey({ act: 'cut', pairs: [pair] });
    let answered = false;
    const dialled = world.dial().then(() => (answered = true));
    await until(() => world.count('frame-held-by-cut') === 1);
    await aWhile();
    expect(answered).toBe(false);
    world.proxy.obey({ act: 'mend', pairs: [pair] });
    await dialled;
  });

  it('makes a sender wait, and keeps no more than its bound', async () => {
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    world.proxy.obey({ act: 'cut', pairs: [THERE] });
    const total = 32 * 1024 * 1024;
    a.write(Buffer.alloc(total, 'x'));
    await until(() => world.proxy.waitingBytes > MAX_WAITING_BYTES);
    await aWhile();
    expect(world.proxy.waitingBytes).toBeLessThanOrEqual(MAX_WAITING_BYTES + 64 * 1024);
    world.proxy.obey({ act: 'mend', pairs: [THERE] });
    await until(() => atB.text.length === total);
  });
});

describe('dials over a proxy', () => {
  it('are refused where the listener refuses them', async () => {
    world.stopListening();
    expect((await world.dial()).answer).toEqual({ code: 'ECONNREFUSED' });
    expect(world.count('dial-refused')).toBe(0);
  });

  it('are refused by the link, one way only, until it is healed', async () => {
    world.proxy.obey({ act: 'dials', mode: 'refused', from: 'a', to: 'b' });
    expect((await world.dial()).answer).toEqual({ code: 'ECONNREFUSED' });
    expect(world.count('dial-refused')).toBe(1);
    world.proxy.obey({ act: 'dials', mode: 'normal', from: 'a', to: 'b' });
    world.proxy.obey({ act: 'dials', mode: 'refused', from: 'b', to: 'a' });
    expect((await world.dial()).answer).toEqual({});
  });

  it('hang as long as the link says so, and are answered then', async () => {
    world.proxy.obey({ act: 'dials', mode: 'hanging', from: 'a', to: 'b' });
    const dialled = world.dial();
    await until(() => world.count('dial-hung') === 1);
    world.proxy.obey({ act: 'heal' });
    expect((await dialled).answer).toEqual({});
  });

  it('are forgotten when who asked gives up', async () => {
    world.proxy.obey({ act: 'dials', mode: 'hanging', from: 'a', to: 'b' });
    const givingUp = new AbortController();
    const dialled = world.dial(givingUp.signal);
    await until(() => world.count('dial-hung') === 1);
    givingUp.abort();
    await expect(dialled).rejects.toThrow();
    await aWhile();
    world.proxy.obey({ act: 'heal' });
    await aWhile();
    expect(world.dialsTaken).toBe(0);
  });
});

describe('a link that breaks connections', () => {
  it('resets both ends of those between two hosts, and counts each', async () => {
    const [one, other] = [await world.connect(), await world.connect()];
    const ends = [one.a, one.b, other.a, other.b];
    const failed = ends.map((socket) => once(socket.resume(), 'error'));
    world.proxy.obey({ act: 'reset', one: 'b', other: 'a' });
    for (const error of await Promise.all(failed)) expect(error).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(world.count('connection-broken')).toBe(2);
  });

  it('breaks one by chance, with what has struck it lost', async () => {
    world.close();
    let drawn = 0.5;
    world = await ProxiedWorld.open(() => drawn);
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    world.proxy.obey({ act: 'break', chance: 0.1 });
    a.write('passes');
    await until(() => atB.text === 'passes');
    expect(world.count('connection-broken')).toBe(0);
    const failed = once(b, 'error');
    drawn = 0.05;
    a.write(' breaks');
    await failed;
    expect(atB.text).toBe('passes');
    expect(world.count('connection-broken')).toBe(1);
  });

  it('carries again when it is healed', async () => {
    world.proxy.obey({ act: 'break', chance: 1 });
    world.proxy.obey({ act: 'cut', pairs: [THERE, BACK] });
    world.proxy.obey({ act: 'slow', latency: { minMs: 60_000, maxMs: 90_000 } });
    world.proxy.obey({ act: 'clog', from: 'a', to: 'b', forMs: 60_000 });
    world.proxy.obey({ act: 'dials', mode: 'hanging', from: 'a', to: 'b' });
    world.proxy.obey({ act: 'heal' });
    const { a, b } = await world.connect();
    const atB = new Heard(b);
    a.write('there');
    await until(() => atB.text === 'there');
  });
});
