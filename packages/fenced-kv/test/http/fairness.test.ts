/** One client with a thousand writes on their way, and another with one at a time: whose writes come before whose. */

import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { silentLogger } from '@holdfast/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { BodyReader } from '../../src/http/body-reader.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import { listen } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import {
  MAX_CONNECTIONS_PER_ADDRESS,
  MAX_INLINE_VALUE_BYTES,
  MAX_SMALL_REQUEST_BYTES,
  RESERVED_BODY_BYTES,
  VALUE_CHUNK_BYTES,
} from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';

const OUTSTANDING = 1_000;
const OWN_WRITES = 10;

/** How they come, over how many connections, of how many bytes each. */
const FLOODS = [
  ['one connection', 1, 10],
  ['one connection, of values with a body to wait for', 1, 20_000],
  ['50 connections', 50, 10],
  ['250 connections', 250, 10],
] as const;

let store: FencedStore;
let server: HttpServer;
let sockets: Socket[];

beforeEach(async () => {
  const engine = memoryEngine();
  // So that what waits for a write of the disk is together in the next one.
  engine.slowDown(2);
  store = await FencedStore.open(engine);
  const handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
  server = await listen(handler, { host: '127.0.0.1', port: 0 });
  sockets = [];
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close(0);
});

function write(key: string, bytes: number): string {
  const head = [
    `PUT /v1/buckets/flood/keys/${key} HTTP/1.1`,
    `Host: ${new URL(server.url).host}`,
    'Fencing-Token: 1',
    'Content-Type: application/octet-stream',
    `Content-Length: ${bytes}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${'v'.repeat(bytes)}`;
}

/** Sends all at once over so many connections, and waits for the first answer. */
async function flood(connections: number, bytes: number): Promise<void> {
  const { hostname, port } = new URL(server.url);
  const requests = OUTSTANDING / connections;
  sockets = Array.from({ length: connections }, () => connect(Number(port), hostname).on('error', () => undefined));
  const answered = sockets.map(async (socket) => await once(socket, 'data'));
  for (const [index, socket] of sockets.entries()) socket.write(write(`k${index}`, bytes).repeat(requests));
  await Promise.race(answered);
}

const flooded = (): number => store.info('flood').revision;

/** How many of the flood's writes came between the sending and the answer of each of another client's. */
async function overtaken(): Promise<number[]> {
  const counts: number[] = [];
  for (let own = 0; own < OWN_WRITES; own += 1) {
    const before = flooded();
    const headers = { 'fencing-token': '1', 'content-type': 'application/octet-stream' };
    const url = `${server.url}/v1/buckets/mine/keys/k`;
    expect((await fetch(url, { method: 'PUT', headers, body: new TextEncoder().encode(`${own}`) })).status).toBe(204);
    counts.push(flooded() - before);
  }
  return counts;
}

describe('a write beside a thousand of another client', () => {
  it.each(FLOODS)('on %s waits for a few of each connection, not for all', async (_how, connections, bytes) => {
    await flood(connections, bytes);
    const counts = await overtaken();
    // A write of the disk takes one of each connection. The own one is in the second from its arrival on; meanwhile more may begin.
    for (const count of counts.slice(0, 3)) expect(count).toBeLessThanOrEqual(6 * connections);
    // There were others to wait for.
    expect(Math.max(...counts)).toBeGreaterThan(0);
    expect(counts[0] ?? OUTSTANDING).toBeLessThan(OUTSTANDING - connections);
  });

  it('finds room while the bodies of others take all that they may have', () => {
    const bodies = new BodyReader();
    const large = Array.from({ length: 256 }, () => bodies.hold());
    const refused = large.filter((hold) => {
      try {
        hold.take(MAX_INLINE_VALUE_BYTES);
        return false;
      } catch {
        return true;
      }
    });
    expect(refused.length).toBe(RESERVED_BODY_BYTES / MAX_INLINE_VALUE_BYTES);
    // As many as another address may have on their way at once.
    const small = Array.from({ length: MAX_CONNECTIONS_PER_ADDRESS }, () => bodies.hold());
    for (const hold of small) hold.take(MAX_SMALL_REQUEST_BYTES);
    expect(() => bodies.hold().take(MAX_SMALL_REQUEST_BYTES + 1)).toThrow('try again later');
    // One that grows is a large one.
    expect(() => small[0]?.take(1)).toThrow('try again later');
    for (const hold of [...large, ...small]) hold.release();
    expect(bodies.heldBytes).toBe(0);
  });

  it('is not behind a value of 16 MiB that arrives: only behind the chunks of it that are being written', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    sockets = [socket];
    await store.install('flood', 1);
    socket.write(write('large', 16 * 1024 * 1024));
    await expect.poll(() => store.figures.uploads).toBe(1);
    for (let own = 0; own < 3; own += 1) {
      const before = store.figures.commits.commits;
      await store.write('mine', [{ key: 'k', value: new Uint8Array(1) }], { token: 1 });
      expect(store.figures.commits.commits - before).toBeLessThanOrEqual(4);
    }
    // All of it would be so many.
    expect((16 * 1024 * 1024) / VALUE_CHUNK_BYTES).toBe(64);
    expect(flooded()).toBe(0);
  });
});
