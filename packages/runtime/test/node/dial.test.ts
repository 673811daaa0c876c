import { connect as connectTcp, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { DialError, silentLogger } from '../../src/index.ts';
import { nodeNetwork } from '../../src/node/index.ts';
import { MAX_DIALS_UNDER_WAY } from '../../src/node/websocket/dial.ts';

const network = nodeNetwork({ logger: silentLogger });
let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

/** Accepts connections and says nothing. */
async function mute(): Promise<string> {
  const listening = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen({ host: '127.0.0.1', port: 0 }, resolve));
  return `127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

function failureOf(dialling: Promise<unknown>): Promise<string> {
  return dialling.then(
    () => 'none',
    (error: unknown) =>
      error instanceof DialError
        ? `${error.failure}${error.accepted ? ' and accepted' : ''}: ${error.message}`
        : String(error),
  );
}

describe('a dial that the host has accepted', () => {
  it('has time of its own from then on, and says what it waited for', async () => {
    const address = await mute();
    const failure = failureOf(network.dial({ address, timeoutMs: 30, acceptedTimeoutMs: 300, maxFrameBytes: 1_000 }));
    expect(await failure).toMatch(/^timeout and accepted: .*accepted, and no handshake within 300 ms/);
  });

  it('has the time of the dial when it has none of its own', async () => {
    const address = await mute();
    expect(await failureOf(network.dial({ address, timeoutMs: 30, maxFrameBytes: 1_000 }))).toMatch(
      /^timeout: .*no answer within 30 ms/,
    );
  });
});

describe('a listener to which more connections come than it can accept', () => {
  it('tells some when to come again, and shakes hands with the others', async () => {
    const listener = await network.listen({
      address: '127.0.0.1:0',
      maxFrameBytes: 1_000,
      onConnection: (connection) => connection.setHandler({ frame: () => {}, close: () => {} }),
    });
    const port = Number(listener.address.split(':')[1]);
    // All at once, which `dial` never does.
    const answers = await Promise.all(
      Array.from({ length: 600 }, () => {
        return new Promise<string>((resolve) => {
          const socket = connectTcp(port, '127.0.0.1');
          sockets.add(socket);
          socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`);
          socket.write('Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
          socket.once('data', (data) => resolve(data.toString()));
          socket.on('error', (error) => resolve(String(error)));
        });
      }),
    );
    const sentAway = answers.filter((answer) => /^HTTP\/1.1 503 [^]*\r\nholdfast-again-in-ms: \d+\r\n/.test(answer));
    const upgraded = answers.filter((answer) => answer.startsWith('HTTP/1.1 101'));
    expect(upgraded.length + sentAway.length).toBe(600);
    expect(upgraded.length).toBeGreaterThanOrEqual(64);
    expect(sentAway.length).toBe(listener.load.refused.get('sent-away') ?? 0);
    expect(listener.load.waiting).toBe(0);
    await listener.close();
  });

  it('has its dials fail with the time in which to come again', async () => {
    const address = await mute();
    server?.on('connection', (socket: Socket) => {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nholdfast-again-in-ms: 1234\r\nContent-Length: 0\r\n\r\n');
    });
    const dialling = network.dial({ address, timeoutMs: 5_000, maxFrameBytes: 1_000 });
    await expect(dialling).rejects.toMatchObject({ failure: 'failed', againInMs: 1_234 });
  });

  it('lets go of those who wait when it is closed', async () => {
    const listener = await network.listen({ address: '127.0.0.1:0', maxFrameBytes: 1_000, onConnection: () => {} });
    const port = Number(listener.address.split(':')[1]);
    const closes = Array.from({ length: 100 }, () => {
      const socket = connectTcp(port, '127.0.0.1');
      socket.on('error', () => undefined);
      return new Promise((resolve) => socket.once('close', resolve));
    });
    await new Promise((resolve) => setImmediate(resolve));
    await listener.close();
    await Promise.all(closes);
  });
});

describe('very many dials of one process to one address', () => {
  it('are made a few at a time, and all are made', async () => {
    const address = await mute();
    let most = 0;
    let underWay = 0;
    let all = 0;
    server?.on('connection', (socket: Socket) => {
      all += 1;
      underWay += 1;
      most = Math.max(most, underWay);
      setTimeout(() => {
        underWay -= 1;
        socket.end('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n');
      }, 20);
    });
    const dials = Array.from({ length: 3 * MAX_DIALS_UNDER_WAY }, () =>
      failureOf(network.dial({ address, timeoutMs: 20_000, maxFrameBytes: 1_000 })),
    );
    expect(new Set((await Promise.all(dials)).map((text) => text.slice(0, 6)))).toEqual(new Set(['failed']));
    expect(all).toBe(dials.length);
    expect(most).toBeLessThanOrEqual(MAX_DIALS_UNDER_WAY);
  });

  it('are all answered by the first that is refused', async () => {
    const address = await mute();
    await new Promise((resolve) => server?.close(resolve));
    server = undefined;
    const dials = Array.from({ length: 3 * MAX_DIALS_UNDER_WAY }, () =>
      failureOf(network.dial({ address, timeoutMs: 20_000, maxFrameBytes: 1_000 })),
    );
    const failures = await Promise.all(dials);
    expect(failures.filter((text) => !text.startsWith('refused'))).toEqual([]);
    expect(failures.filter((text) => text.includes('it has just refused another dial')).length).toBeGreaterThan(0);
  });

  it('do not wait one after another for a host that hangs', async () => {
    const address = await mute();
    const begun = performance.now();
    const dials = Array.from({ length: 10 * MAX_DIALS_UNDER_WAY }, () =>
      failureOf(network.dial({ address, timeoutMs: 300, maxFrameBytes: 1_000 })),
    );
    await Promise.all(dials);
    expect(performance.now() - begun).toBeLessThan(2_500);
  });
});
