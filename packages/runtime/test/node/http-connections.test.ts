import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { parseAddress, silentLogger } from '../../src/index.ts';
import type { HttpResponse, Listener, ListenOptions } from '../../src/index.ts';
import { MAX_HTTP_CONNECTIONS, MAX_HTTP_STREAMS } from '../../src/node/http/http-connections.ts';
import { nodeNetwork } from '../../src/node/index.ts';
import { until } from './fixture.ts';

const GET = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const PIPELINED = 2_000;

const network = nodeNetwork({ logger: silentLogger });
const listeners: Listener[] = [];
const sockets: Talk[] = [];

afterEach(async () => {
  for (const { socket } of sockets.splice(0)) socket.destroy();
  for (const listener of listeners.splice(0)) await listener.close();
});

async function listen(options: Partial<ListenOptions>): Promise<Listener> {
  const listener = await network.listen({
    address: '127.0.0.1:0',
    maxFrameBytes: 100_000,
    onConnection: (connection) => connection.setHandler({ frame() {}, close() {} }),
    ...options,
  });
  listeners.push(listener);
  return listener;
}

/** What one client sends and hears. */
interface Talk {
  readonly socket: Socket;
  heard: string;
  closed: boolean;
}

async function talk(listener: Listener, text = ''): Promise<Talk> {
  const socket = connect(parseAddress(listener.address));
  const it: Talk = { socket, heard: '', closed: false };
  sockets.push(it);
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => (it.heard += chunk));
  socket.on('error', () => undefined);
  socket.on('close', () => (it.closed = true));
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return it;
}

const answersIn = ({ heard }: Talk): number => heard.split('HTTP/1.1 200 ').length - 1;

/** A handler whose answers the test gives. */
class Held {
  readonly answers: ((response: HttpResponse) => void)[] = [];
  readonly http = (): Promise<HttpResponse> => new Promise((resolve) => this.answers.push(resolve));

  answer(body = ''): void {
    for (const give of this.answers.splice(0)) give({ status: 200, contentType: 'text/plain', body });
  }
}

const quick = (): HttpResponse => ({ status: 200, contentType: 'text/plain', body: 'well' });

describe('requests that one connection sends behind each other', () => {
  it('are all answered, while another connection waits for a few of them only', async () => {
    const listener = await listen({ http: quick });
    const flood = await talk(listener, GET.repeat(PIPELINED));
    await until(() => answersIn(flood) > 0);
    const other = await talk(listener, GET);
    await until(() => answersIn(other) === 1);
    expect(answersIn(flood)).toBeLessThan(PIPELINED / 2);
    await until(() => answersIn(flood) === PIPELINED);
  });

  it('are under way one at a time', async () => {
    const held = new Held();
    const listener = await listen({ http: held.http });
    const pipelining = await talk(listener, GET.repeat(3));
    const other = await talk(listener, GET);
    for (let answered = 1; answered <= 3; answered += 1) {
      await until(() => held.answers.length === (answered === 1 ? 2 : 1));
      held.answer();
      await until(() => answersIn(pipelining) === answered);
    }
    expect(answersIn(other)).toBe(1);
  });

  it('are answered although the client has ended its side', async () => {
    const held = new Held();
    const listener = await listen({ http: held.http });
    const ended = await talk(listener);
    ended.socket.end(GET.repeat(2));
    for (let answered = 1; answered <= 2; answered += 1) {
      await until(() => held.answers.length === 1);
      held.answer();
    }
    await until(() => ended.closed);
    expect(answersIn(ended)).toBe(2);
  });

  it('may end in a WebSocket, whose frames may have come with its handshake', async () => {
    const lengths: number[] = [];
    const listener = await listen({
      http: quick,
      onConnection: (connection) =>
        connection.setHandler({ frame: (bytes) => void lengths.push(bytes.length), close() {} }),
    });
    const upgrade =
      'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
    const frames = Buffer.concat([frame(40), frame(3_000), frame(70_000)]);
    const client = await talk(listener, GET);
    await until(() => answersIn(client) === 1);
    client.socket.write(Buffer.concat([Buffer.from(upgrade), frames]));
    await until(() => lengths.length === 3);
    await until(() => client.heard.includes('101 Switching Protocols'));
    expect(lengths).toEqual([40, 3_000, 70_000]);
  });

  it('close the connection when a WebSocket is asked for before they are answered', async () => {
    const held = new Held();
    const listener = await listen({ http: held.http });
    const upgrade = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
    const client = await talk(listener, `${GET}${upgrade}`);
    await until(() => client.closed);
  });

  it('with bodies, which nobody reads, are answered once', async () => {
    const listener = await listen({ http: quick });
    const body = `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000000\r\n\r\n`;
    const client = await talk(listener, `${body}xyz`);
    await until(() => client.closed);
    expect(answersIn(client)).toBe(1);
    expect(client.heard).toContain('Connection: close');
  });
});

/** A masked binary frame of so many zeros. */
function frame(length: number): Buffer {
  const size =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 255]
        : [127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255];
  const head = Buffer.from(size);
  head[0] = (head[0] ?? 0) | 0x80;
  return Buffer.concat([Buffer.of(0x82), head, Buffer.alloc(4 + length)]);
}

describe('connections of plain HTTP', () => {
  it('are bounded: the one that has been idle longest leaves for a new one', async () => {
    const listener = await listen({ http: quick });
    const all: Talk[] = [];
    for (let n = 0; n < MAX_HTTP_CONNECTIONS; n += 1) {
      const each = await talk(listener, GET);
      await until(() => answersIn(each) === 1);
      all.push(each);
    }
    all[0]?.socket.write(GET);
    await until(() => answersIn(all[0] as Talk) === 2);
    const late = await talk(listener, GET);
    await until(() => answersIn(late) === 1);
    await until(() => all[1]?.closed === true);
    expect(all.filter(({ closed }) => closed)).toHaveLength(1);
  });

  it('are bounded: while each has a request under way a new one is told to come again, and counted', async () => {
    const held = new Held();
    const listener = await listen({ http: held.http });
    const all = await Promise.all(Array.from({ length: MAX_HTTP_CONNECTIONS }, () => talk(listener, GET)));
    await until(() => held.answers.length === MAX_HTTP_CONNECTIONS);
    const late = await talk(listener, GET.repeat(3));
    await until(() => late.closed);
    expect(late.heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503']);
    expect(late.heard).toContain('Connection: close');
    expect(listener.load.refused.get('http-too-many')).toBe(1);
    held.answer();
    await until(() => all.every((each) => answersIn(each) === 1));
  });

  it('do not hold off a new one by asking for more than is answered, or by not reading', async () => {
    const held = new Held();
    const listener = await listen({ http: held.http });
    const greedy = await talk(listener, GET.repeat(20));
    const deaf = await talk(listener, GET);
    deaf.socket.pause();
    await Promise.all(Array.from({ length: MAX_HTTP_CONNECTIONS - 2 }, () => talk(listener, GET)));
    await until(() => held.answers.length === MAX_HTTP_CONNECTIONS);
    const first = await talk(listener, GET);
    await until(() => greedy.closed);
    held.answers[1]?.({ status: 200, contentType: 'text/plain', body: 'x'.repeat(20_000_000) });
    await until(() => held.answers.length === MAX_HTTP_CONNECTIONS + 1);
    const second = await talk(listener, GET);
    await until(() => held.answers.length === MAX_HTTP_CONNECTIONS + 2);
    held.answer();
    await until(() => answersIn(first) === 1 && answersIn(second) === 1);
  });

  it('are not those that have become WebSockets', async () => {
    const listener = await listen({ http: quick });
    const clients = Array.from({ length: MAX_HTTP_CONNECTIONS + 1 }, () => new WebSocket(`ws://${listener.address}/`));
    await Promise.all(clients.map((client) => once(client, 'open')));
    const http = await Promise.all(Array.from({ length: MAX_HTTP_CONNECTIONS }, () => talk(listener, GET)));
    await until(() => http.every((each) => answersIn(each) === 1));
    expect(http.some(({ closed }) => closed)).toBe(false);
    for (const client of clients) client.terminate();
  });
});

describe('answers that do not end', () => {
  it('leave places for others: one more than may be is told to come again, until one has found its client gone', async () => {
    async function* never(): AsyncIterable<string> {
      for (;;) {
        yield 'more ';
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    const listener = await listen({ http: () => ({ status: 200, contentType: 'text/plain', body: never() }) });
    const talks = await Promise.all(Array.from({ length: MAX_HTTP_STREAMS }, () => talk(listener, GET)));
    await until(() => talks.every(({ heard }) => heard.includes('more ')));
    const late = await talk(listener, GET);
    await until(() => late.heard.includes('HTTP/1.1 503'));
    for (const { socket } of talks) socket.destroy();
    await until(() => listener.load.sockets <= 1);
    const next = await talk(listener, GET);
    await until(() => next.heard.includes('more '));
  });
});
