import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { parseAddress, silentLogger } from '../../src/index.ts';
import type { Connection, Listener, ListenOptions, Logger } from '../../src/index.ts';
import { nodeNetwork } from '../../src/node/index.ts';
import { until } from './fixture.ts';

const errors: string[] = [];
const logger: Logger = { ...silentLogger, error: (_fields, message) => void errors.push(message) };
const network = nodeNetwork({ logger });
const listeners: Listener[] = [];

afterEach(async () => {
  errors.length = 0;
  for (const listener of listeners.splice(0)) await listener.close();
});

async function listen(options: Partial<ListenOptions> = {}): Promise<Listener> {
  const listener = await network.listen({
    address: '127.0.0.1:0',
    maxFrameBytes: 1_000,
    onConnection: (connection) => connection.setHandler({ frame() {}, close() {} }),
    allowedHosts: { names: ['127.0.0.1', 'localhost', '[::1]'], anyAddress: false },
    http: ({ target }) =>
      target === '/broken'
        ? Promise.reject(new Error('no answer'))
        : Promise.resolve({ status: 200, contentType: 'text/plain; charset=utf-8', body: `asked for ${target}` }),
    ...options,
  });
  listeners.push(listener);
  return listener;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function ask(listener: Listener, path: string, headers = {}, method = 'GET'): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port: parseAddress(listener.address).port, path, method, headers });
  sent.end();
  const [response] = await once(sent, 'response');
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, body };
}

/** The status of a WebSocket handshake. */
function upgrade(listener: Listener, headers: Record<string, string>): Promise<number> {
  const webSocket = new WebSocket(`ws://${listener.address}/`, { headers });
  return new Promise((resolve) => {
    webSocket.on('error', () => {});
    webSocket.on('unexpected-response', (sent, response) => {
      sent.destroy();
      resolve(response.statusCode ?? 0);
    });
    webSocket.on('open', () => {
      webSocket.terminate();
      resolve(101);
    });
  });
}

/** Everything that the listener answers to these bytes before it closes. */
async function raw(listener: Listener, text: string): Promise<string> {
  const socket = connect(parseAddress(listener.address));
  socket.setEncoding('latin1');
  socket.end(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

describe('a listener', () => {
  it('answers plain HTTP through its handler', async () => {
    const listener = await listen();
    expect(await ask(listener, '/status?full')).toEqual({ status: 200, body: 'asked for /status?full' });
    expect(await ask(listener, '/status', {}, 'HEAD')).toEqual({ status: 200, body: '' });
  });

  it('allows only GET and HEAD', async () => {
    const listener = await listen();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect((await ask(listener, '/status', {}, method)).status).toBe(405);
    }
  });

  it('answers 500 when its handler fails, says no more, and logs it', async () => {
    const listener = await listen();
    const answer = await ask(listener, '/broken');
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain('no answer');
    expect(errors).toEqual(['an HTTP request failed']);
  });

  it('ends a connection whose answer cannot be sent, and goes on', async () => {
    const listener = await listen({
      http: ({ target }) => {
        const answer = { status: 200, contentType: target === '/odd' ? 'no\u0000header' : 'text/plain', body: 'well' };
        return target === '/odd' ? Promise.resolve(answer) : answer;
      },
    });
    await expect(ask(listener, '/odd')).rejects.toThrow('socket hang up');
    expect(errors).toEqual(['an HTTP request failed']);
    expect((await ask(listener, '/')).body).toBe('well');
  });

  it('answers whoever expects something first like anybody else', async () => {
    const listener = await listen();
    for (const expects of ['100-continue', 'the unexpected']) {
      const answer = await raw(
        listener,
        `GET / HTTP/1.1\r\nHost: localhost\r\nExpect: ${expects}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
    }
  });

  it('asks a handler again that has failed, whichever way, and logs it once a second', async () => {
    let calls = 0;
    const listener = await listen({
      http: () => {
        calls += 1;
        if (calls < 10) throw new Error('not yet');
        return { status: 200, contentType: 'text/plain', body: 'well' };
      },
    });
    for (let call = 1; call < 10; call += 1) expect((await ask(listener, '/')).status).toBe(500);
    expect((await ask(listener, '/')).body).toBe('well');
    expect(errors.length).toBeLessThan(9);
  });

  it('answers 426 to plain HTTP when it has no handler', async () => {
    const listener = await network.listen({ address: '127.0.0.1:0', maxFrameBytes: 100, onConnection() {} });
    listeners.push(listener);
    expect((await ask(listener, '/')).status).toBe(426);
  });

  it('refuses a foreign Host, upgrade or not: a name may be pointed at a loopback address', async () => {
    const listener = await listen();
    for (const host of ['evil.example', 'evil.example:7101', '127.0.0.1.evil.example', 'localhost@evil.example']) {
      expect((await ask(listener, '/status', { host })).status).toBe(403);
      expect(await upgrade(listener, { host })).toBe(403);
    }
  });

  it('takes the hosts that it is told to, with any port and in any case', async () => {
    const listener = await listen();
    for (const host of ['127.0.0.1', 'LOCALHOST:1', '[::1]:7101', 'localhost.']) {
      expect((await ask(listener, '/status', { host })).status).toBe(200);
      expect(await upgrade(listener, { host })).toBe(101);
    }
  });

  it('refuses a request without a Host', async () => {
    const listener = await listen();
    expect(await raw(listener, 'GET /status HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1.1 403 /);
    expect(await raw(listener, 'GET /status HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 403 /,
    );
    expect(await raw(listener, 'GET /status HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 403 /);
  });

  it('refuses requests and handshakes of a web page, from whatever origin', async () => {
    const listener = await listen();
    for (const origin of ['https://evil.example', `http://${listener.address}`, 'null']) {
      expect(await upgrade(listener, { origin })).toBe(403);
      expect((await ask(listener, '/status', { origin })).status).toBe(403);
    }
    for (const site of ['cross-site', 'same-site', 'CROSS-SITE', 'none, cross-site']) {
      expect(await upgrade(listener, { 'sec-fetch-site': site })).toBe(403);
      expect((await ask(listener, '/status', { 'sec-fetch-site': site })).status).toBe(403);
    }
    for (const site of ['none', 'same-origin']) {
      expect((await ask(listener, '/status', { 'sec-fetch-site': site })).status).toBe(200);
    }
    expect(listener.load.refused.get('web-page')).toBe(14);
  });

  it('that listens on every address answers for any address, and for no name that it was not told', async () => {
    const listener = await listen({ allowedHosts: { names: ['locks.example'], anyAddress: true } });
    for (const host of ['127.0.0.1', '10.1.2.3:7101', '[fd00::1]:7101', 'locks.example']) {
      expect((await ask(listener, '/status', { host })).status, host).toBe(200);
    }
    for (const host of [
      'rebound.example',
      '127.1',
      '2130706433',
      '0x7f.0.0.1',
      '1.2.3.4.5',
      '256.1.1.1',
      '010.1.2.3',
    ]) {
      const answer = await ask(listener, '/status', { host });
      expect(answer.status, host).toBe(403);
      expect(answer.body).toContain(`start it with --allow-host ${host}`);
    }
  });

  it('lets nobody frame, guess or keep an answer, whatever it is', async () => {
    const listener = await listen();
    const texts = [
      'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n',
      'GET /broken HTTP/1.1\r\nHost: 127.0.0.1\r\n',
      'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n',
      'GET / HTTP/1.1\r\nHost: evil.example\r\n',
      'GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: upgrade\r\n',
      'no HTTP at all\r\n',
      `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n`,
    ];
    const statuses: number[] = [];
    for (const text of texts) {
      const connection = text.includes('Upgrade') ? '' : 'Connection: close\r\n';
      const answer = await raw(listener, `${text}${connection}\r\n`);
      statuses.push(Number(answer.split(' ')[1]));
      expect(answer).toContain('X-Content-Type-Options: nosniff\r\n');
      expect(answer).toContain('X-Frame-Options: DENY\r\n');
      expect(answer).toContain('Cache-Control: no-store\r\n');
    }
    expect(statuses).toEqual([200, 500, 405, 403, 403, 400, 431]);
  });

  it('closes a connection that sends a text frame', async () => {
    const closes: string[] = [];
    const frames: Uint8Array[] = [];
    const listener = await listen({
      onConnection: (connection) =>
        connection.setHandler({
          frame: (bytes) => void frames.push(bytes),
          close: (reason) => void closes.push(reason),
        }),
    });
    const webSocket = new WebSocket(`ws://${listener.address}/`);
    await once(webSocket, 'open');
    webSocket.send('text');
    webSocket.send(Uint8Array.of(1));
    const [code] = await once(webSocket, 'close');
    expect(code).toBe(1003);
    await until(() => closes.length > 0);
    expect(closes[0]).toContain('text frame');
    expect(frames).toEqual([]);
  });

  it('closes with 1009 at a frame that is too long', async () => {
    const listener = await listen();
    const webSocket = new WebSocket(`ws://${listener.address}/`);
    await once(webSocket, 'open');
    webSocket.send(new Uint8Array(1_001));
    const [code] = await once(webSocket, 'close');
    expect(code).toBe(1009);
  });

  it('keeps frames that came with the handshake until the handler is set, and hands them over first', async () => {
    const accepted: Connection[] = [];
    const listener = await listen({ onConnection: (connection) => void accepted.push(connection) });
    const near = await network.dial({ address: listener.address, timeoutMs: 5_000, maxFrameBytes: 1_000 });
    near.setHandler({ frame() {}, close() {} });
    for (let n = 0; n < 100; n += 1) near.send(Uint8Array.of(n));
    await until(() => accepted.length > 0 && near.bufferedBytes === 0);
    const heard: number[] = [];
    accepted[0]?.setHandler({ frame: (bytes) => void heard.push(bytes[0] ?? -1), close() {} });
    await until(() => heard.length === 100);
    expect(heard).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  it('counts what the kernel does not take yet', async () => {
    const listener = await listen({ onConnection() {} });
    const near = await network.dial({ address: listener.address, timeoutMs: 5_000, maxFrameBytes: 1_000 });
    near.setHandler({ frame() {}, close() {} });
    const frame = new Uint8Array(1_000_000);
    for (let n = 0; n < 30; n += 1) near.send(frame);
    expect(near.bufferedBytes).toBeGreaterThan(1_000_000);
    near.destroy();
  });
});

describe('a dial', () => {
  const servers: { close(): void }[] = [];
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  async function serve(onSocket: (socket: Socket) => void): Promise<string> {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.resume();
      onSocket(socket);
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const dial = (address: string, timeoutMs = 5_000) => network.dial({ address, timeoutMs, maxFrameBytes: 1_000 });

  it('times out when the other side accepts and says nothing', async () => {
    const address = await serve(() => {});
    await expect(dial(address, 50)).rejects.toMatchObject({ failure: 'timeout' });
    await until(() => sockets.length > 0 && sockets.every((socket) => socket.destroyed || socket.readableEnded));
  });

  it('fails when the other side answers with another status than 101, or not in HTTP, or goes away', async () => {
    const refusing = await serve((socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\n\r\n'));
    await expect(dial(refusing)).rejects.toThrow('302');
    const wordy = await serve((socket) =>
      socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>a page of a proxy</html>'),
    );
    await expect(dial(wordy)).rejects.toThrow(/status 502$/);
    const strange = await serve((socket) => socket.end('220 mail.example ESMTP\r\n'));
    await expect(dial(strange)).rejects.toMatchObject({ failure: 'failed' });
    const leaving = await serve((socket) => socket.destroy());
    await expect(dial(leaving)).rejects.toMatchObject({ failure: 'failed' });
  });

  it('says why the listener did not take it', async () => {
    const listener = await listen({ allowedHosts: { names: ['locks.example'], anyAddress: false } });
    await expect(dial(listener.address)).rejects.toThrow(
      /HTTP status 403: refused: this server does not answer for host "127.0.0.1".* --allow-host 127.0.0.1$/,
    );
  });

  it('tells no more of such a reason than a line', async () => {
    const head = 'HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n\r\n';
    const long = await serve((socket) => void socket.write(`${head}${'x'.repeat(100_000)}`));
    await expect(dial(long)).rejects.toThrow(/: x{300}$/);
    const several = await serve((socket) => socket.end(`${head}one\ntwo\n`));
    await expect(dial(several)).rejects.toThrow(/: one$/);
    const endless = await serve((socket) => void socket.write(`${head}one`));
    await expect(dial(endless, 50)).rejects.toMatchObject({ failure: 'timeout' });
  });

  it('is refused by name as it is by number', async () => {
    const listener = await listen();
    await listener.close();
    const { port } = parseAddress(listener.address);
    await expect(dial(`localhost:${port}`)).rejects.toMatchObject({ failure: 'refused' });
  });
});
