import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { silentLogger } from '@holdfast/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { listen } from '../../src/http/server.ts';
import type { HttpServer, ServerOptions } from '../../src/http/server.ts';
import { MAX_LIST_KEY_BYTES } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import { refusalOf } from '../support/refusal-of.ts';

let store: FencedStore;
let server: HttpServer;

beforeEach(async () => {
  store = await FencedStore.open(memoryEngine());
  const handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
  server = await listen(handler, { host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  await server.close(0);
});

/** Says it over a plain socket, since `fetch` makes the path normal, and resolves with everything that is answered until the end. */
async function speak(...requests: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.end(requests.join(''));
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  await new Promise((resolve) => {
    socket.on('close', resolve).on('error', () => undefined);
  });
  return answer;
}

function request(method: string, path: string, body = ''): string {
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(server.url).host}`,
    'Fencing-Token: 57',
    'Content-Type: application/octet-stream',
    `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

describe('a path that would name something else after normalisation', () => {
  it.each([
    '/v1/buckets/aa/keys/%2e%2e/%2e%2e/bb/keys/z',
    '/v1/buckets/aa/keys/x/../../../bb/keys/z',
    '/v1/buckets/aa/keys/.%2E/../bb/keys/z',
    '/v1/buckets/./bb/keys/z',
    '/v1//buckets/bb/keys/z',
    '/v1/buckets/%62b/keys/z',
    '/v1/buckets/bb/%6Beys/z',
    '/v1\\buckets\\bb\\keys\\z',
  ])('is refused as it was sent: PUT %s writes nothing', async (path) => {
    const answer = await speak(request('PUT', path, 'late'));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('is not in its normal form');
    for (const bucket of ['aa', 'bb']) {
      expect(await refusalOf(() => store.info(bucket))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
    }
  });

  it('is told from a key with encoded slashes and dots, which is one key', async () => {
    for (const [path, key] of [
      ['a%2Fb', 'a/b'],
      ['%2e%2e%2Fbb', '../bb'],
      ['x%2f..%2f..', 'x/../..'],
    ] as const) {
      expect(await speak(request('PUT', `/v1/buckets/aa/keys/${path}`, 'value'))).toMatch(/^HTTP\/1\.1 204 /);
      expect(new TextDecoder().decode(store.get('aa', key).value)).toBe('value');
    }
  });
});

const LISTING = '/v1/buckets/many/keys?limit=1000';

async function fillBucket(keys: number, keyBytes = 20): Promise<void> {
  const names = Array.from({ length: keys }, (_, index) => `${index}`.padStart(keyBytes, 'k'));
  for (let from = 0; from < keys; from += 1_000) {
    const writes = names.slice(from, from + 1_000).map((key) => ({ key, value: new Uint8Array(1) }));
    await store.write('many', writes, { token: 57 });
  }
}

function dial(): Socket {
  const { hostname, port } = new URL(server.url);
  return connect(Number(port), hostname).on('error', () => undefined);
}

async function serveWith(options: ServerOptions): Promise<void> {
  await server.close(0);
  const handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
  server = await listen(handler, { host: '127.0.0.1', port: 0 }, options);
}

describe('requests that are pipelined on one connection', () => {
  it('are answered in order, each once, to the last, also to who says no more', async () => {
    const requests = Array.from({ length: 300 }, (_, index) =>
      request('PUT', `/v1/buckets/aa/keys/${index % 7}`, `${index}`),
    );
    const answer = await speak(...requests);
    const tags = [...answer.matchAll(/etag: "(\d+)"/gi)].map(([, tag]) => Number(tag));
    expect(tags).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
    expect(new TextDecoder().decode(store.get('aa', '5').value)).toBe('299');
  });

  it('leave the event loop to everybody else between any two of them', async () => {
    await fillBucket(1_000);
    const flood = dial();
    let answered = 0;
    flood.on('data', (chunk: Buffer) => (answered += chunk.toString('latin1').split('HTTP/1.1 200').length - 1));
    // Without a body, so that what was answered is what has arrived.
    flood.write(request('HEAD', LISTING).repeat(500));
    await once(flood, 'data');
    for (let asked = 0; asked < 10; asked += 1) {
      expect((await fetch(`${server.url}/health`)).status).toBe(200);
      expect(answered).toBeLessThan(500);
    }
    flood.destroy();
  });

  it('keep nobody waiting for many of them, however many connections bring as many as fit into a chunk', async () => {
    const CONNECTIONS = 32;
    const cuts: string[] = [];
    await serveWith({ refused: (reason) => cuts.push(reason) });
    const small = 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    const requests = Math.floor((64 * 1024) / small.length);
    let answered = 0;
    const flood = Array.from({ length: CONNECTIONS }, () =>
      dial().on('data', (chunk: Buffer) => (answered += chunk.toString('latin1').split('HTTP/1.1 200').length - 1)),
    );
    await Promise.all(flood.map(async (socket) => await once(socket, 'connect')));
    for (const socket of flood) socket.write(small.repeat(requests));
    await waitUntil(() => answered > 0);
    for (let asked = 1; asked <= 10; asked += 1) {
      const before = answered;
      expect((await fetch(`${server.url}/health`)).status).toBe(200);
      // What is parsed of the others before it in a turn or two, and answered in turns with it.
      expect(answered - before).toBeLessThan(CONNECTIONS * 20);
    }
    expect(answered).toBeLessThan((CONNECTIONS * requests) / 2);
    // They wait in the sockets: parsed at once they would be more than may wait.
    expect(cuts).toEqual([]);
    for (const socket of flood) socket.destroy();
  });

  it('with a body of which a part is still to come are answered behind as many as may wait', async () => {
    const socket = dial();
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    const value = 'v'.repeat(200_000);
    const write = request('PUT', '/v1/buckets/aa/keys/k', value);
    // As many as one piece of the parser has, several times.
    socket.write(`${'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(200)}${write.slice(0, 1_000)}`);
    await waitUntil(() => answer.split('HTTP/1.1 200').length > 200);
    socket.write(write.slice(1_000));
    await waitUntil(() => answer.includes('HTTP/1.1 204'));
    expect(new TextDecoder().decode(store.get('aa', 'k').value)).toBe(value);
    socket.destroy();
  });

  it('wait in the socket, not in memory, and beyond a bound of all clients the connection with the most goes', async () => {
    const cuts: string[] = [];
    const maxWaiting = 100;
    await serveWith({ turns: { maxWaiting }, refused: (reason) => cuts.push(reason) });
    const flood = Array.from({ length: 10 }, dial);
    for (const socket of flood) socket.write(request('HEAD', '/health').repeat(400));
    await waitUntil(() => cuts.length > 0);
    expect(new Set(cuts)).toEqual(new Set(['too-many-waiting']));
    for (const socket of flood) socket.destroy();
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    // As many as fit are answered.
    expect((await speak(...Array.from({ length: 90 }, () => request('HEAD', '/health')))).split('200 OK')).toHaveLength(
      91,
    );
  });
});

describe('answers that nobody reads', () => {
  it('are bounded for all clients together: whoever owes the most is closed', async () => {
    const cuts: string[] = [];
    const maxUnreadBytes = 512 * 1024;
    await serveWith({ turns: { maxUnreadBytes }, refused: (reason) => cuts.push(reason) });
    await store.write('many', [{ key: 'large', value: new Uint8Array(1024 * 1024) }], { token: 57 });
    const deaf = Array.from({ length: 4 }, () => dial().pause());
    const closed = deaf.map(async (socket) => await once(socket, 'close'));
    for (const socket of deaf) socket.write(request('GET', '/v1/buckets/many/keys/large').repeat(50));
    await waitUntil(() => cuts.length === 4);
    for (const socket of deaf) socket.resume();
    await Promise.all(closed);
    expect(new Set(cuts)).toEqual(new Set(['unread']));
    const whole = await fetch(`${server.url}/v1/buckets/many/keys/large`);
    expect((await whole.arrayBuffer()).byteLength).toBe(1024 * 1024);
  });

  it('close their connection when none of them is read for a while', async () => {
    await serveWith({ turns: { unreadTimeoutMs: 200 } });
    await store.write('many', [{ key: 'large', value: new Uint8Array(1024 * 1024) }], { token: 57 });
    const deaf = dial().pause();
    const closed = once(deaf, 'close');
    deaf.write(request('GET', '/v1/buckets/many/keys/large').repeat(50));
    // The server closes while nothing is read; what it had sent is read afterwards.
    await waitUntil(() => serverSockets() === 0);
    deaf.resume();
    await closed;
  });
});

describe('connections', () => {
  it('are counted from accept: one more than may be is closed, and has its place when another goes', async () => {
    const refusals: string[] = [];
    await serveWith({ maxConnections: 3, refused: (reason) => refusals.push(reason) });
    const idle = [dial(), dial(), dial()];
    await Promise.all(idle.map(async (socket) => await once(socket, 'connect')));
    await expect(speak(request('GET', '/health'))).resolves.toBe('');
    expect(refusals).toEqual(['too-many-sockets']);
    idle[0]?.destroy();
    await waitUntil(async () => (await speak(request('GET', '/health'))).includes('200 OK'));
    for (const socket of idle) socket.destroy();
  });
});

describe('a page of a list', () => {
  it('ends before its keys are too long together, and goes on in the next', async () => {
    await fillBucket(1_000, 512);
    const seen: string[] = [];
    let pages = 0;
    let after = '';
    for (let more = true; more; pages += 1) {
      const page = store.list('many', { limit: 1_000, ...(after !== '' && { after }) });
      expect(page.keys.length).toBeGreaterThan(0);
      expect(JSON.stringify(page).length).toBeLessThan(2 * MAX_LIST_KEY_BYTES);
      seen.push(...page.keys.map(({ key }) => key));
      more = page.next !== null;
      after = page.next ?? '';
    }
    expect(new Set(seen).size).toBe(1_000);
    expect(pages).toBeGreaterThan(3);
  });
});

describe('every answer', () => {
  it.each([
    ['GET', '/health', 200],
    ['GET', '/nowhere', 404],
    ['GET', '/v1/../x', 400],
    ['PATCH', '/health', 405],
  ] as const)('(%s %s: %d) is neither framed nor guessed nor kept', async (method, path, status) => {
    const answer = (await speak(request(method, path))).toLowerCase();
    expect(answer).toMatch(new RegExp(`^http/1\\.1 ${status} `));
    expect(answer).toContain('x-content-type-options: nosniff');
    expect(answer).toContain('x-frame-options: deny');
    expect(answer).toContain('cache-control: no-store');
  });
});

async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  const endAt = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > endAt) throw new Error(`not within 20 s: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Of this process: the server's ends of its connections among them. */
function serverSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length - 1;
}
