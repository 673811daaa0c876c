import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HTTP_SLICE_BYTES, HttpStream } from '../../src/node/http/http-stream.ts';
import { until } from './fixture.ts';

const BYTES = 100_000;

let server: Server;
let near: Socket;
let far: Socket;
let due: (() => void)[];
let stream: HttpStream;
let chunks: Buffer[];

beforeEach(async () => {
  server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  [far] = (await once(server, 'connection')) as [Socket];
  due = [];
  chunks = [];
  stream = new HttpStream(far, (work) => due.push(work));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
});

afterEach(async () => {
  near.destroy();
  far.destroy();
  await once(server.close(), 'close');
});

const length = (): number => chunks.reduce((sum, chunk) => sum + chunk.length, 0);
const turn = (): void => due.shift()?.();

describe('what an HTTP parser gets of a socket', () => {
  it('comes a little at a time, and each time in a later turn', async () => {
    const sent = Buffer.from(Array.from({ length: BYTES }, (_, n) => n % 251));
    near.write(sent);
    await until(() => chunks.length > 0);
    while (length() < BYTES) {
      await until(() => due.length > 0);
      const before = chunks.length;
      await new Promise((resolve) => setImmediate(resolve));
      expect(chunks).toHaveLength(before);
      turn();
      expect(chunks.length - before).toBeLessThanOrEqual(1);
    }
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBe(HTTP_SLICE_BYTES);
    expect(Buffer.concat(chunks).equals(sent)).toBe(true);
  });

  it('is a body in one piece as far as it has come, and no more than the body', async () => {
    const body = 60_000;
    near.write(Buffer.alloc(BYTES));
    await until(() => chunks.length > 0);
    stream.expectBody(body);
    while (length() < BYTES) {
      await until(() => due.length > 0);
      turn();
    }
    const [first, ...rest] = chunks.map((chunk) => chunk.length);
    expect(first).toBe(HTTP_SLICE_BYTES);
    // It may come in several chunks of the socket.
    const large = rest.findIndex((bytes) => bytes === HTTP_SLICE_BYTES);
    expect(large).toBeLessThan(5);
    expect(rest.slice(0, large).reduce((sum, bytes) => sum + bytes, 0)).toBe(body - HTTP_SLICE_BYTES);
    expect(Math.max(...rest.slice(large))).toBe(HTTP_SLICE_BYTES);
  });

  it('does not come while a request is under way, and neither does the end', async () => {
    stream.once('data', () => stream.hold());
    near.end('one');
    let ended = false;
    stream.on('end', () => (ended = true));
    await until(() => far.readableEnded);
    while (due.length > 0) turn();
    expect(ended).toBe(false);
    stream.goOn();
    await until(() => {
      turn();
      return ended;
    });
  });

  it('is left to whoever goes on with the socket, with nothing lost', async () => {
    near.write(Buffer.alloc(3 * HTTP_SLICE_BYTES, 1));
    await until(() => chunks.length === 1);
    const rest = stream.detach();
    const later: Buffer[] = [rest];
    far.on('data', (chunk: Buffer) => later.push(chunk));
    near.write('on');
    await until(() => Buffer.concat(later).toString().endsWith('on'));
    expect(length() + Buffer.concat(later).length).toBe(3 * HTTP_SLICE_BYTES + 2);
    expect(far.destroyed).toBe(false);
  });

  it('ends with the socket, and the socket with it', async () => {
    stream.on('error', () => undefined);
    near.resetAndDestroy();
    await until(() => stream.destroyed);
    expect(far.destroyed).toBe(true);
  });
});
