import { once } from 'node:events';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { GrpcConnection } from '../../src/generator/etcd/http2.ts';

let server: Http2Server | undefined;
let connection: GrpcConnection | undefined;

afterEach(() => {
  connection?.destroy();
  server?.close();
});

interface Seen {
  readonly path: unknown;
  readonly contentType: unknown;
  readonly body: string;
}

/** A server that knows HTTP/2 from Node.js and answers every call with what it was sent. */
async function echo(seen: Seen[]): Promise<string> {
  server = createServer();
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const body = Buffer.concat(chunks);
      seen.push({ path: headers[':path'], contentType: headers['content-type'], body: body.toString('latin1', 5) });
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      if (headers[':path'] === '/refuse') stream.end();
      else stream.end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('gRPC over a bare socket', () => {
  it('is understood by a server, with headers sent once and then by reference', async () => {
    const seen: Seen[] = [];
    const address = await echo(seen);
    const large = Buffer.alloc(40_000, 'x');
    const requests = ['/a', '/b', '/a', '/c', '/b'].map((path, n) => ({
      path,
      body: n === 3 ? large : Buffer.from(`request ${n}`),
    }));
    const replies: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const next = (): void => {
        const request = requests[replies.length];
        if (request === undefined) resolve();
        else {
          connection?.unary(request.path, request.body, (bytes) => {
            replies.push(bytes.toString('latin1'));
            next();
          });
        }
      };
      connection = new GrpcConnection(address, next, reject);
    });
    const bodies = requests.map(({ body }) => body.toString('latin1'));
    expect(replies).toEqual(bodies);
    expect(seen).toEqual(requests.map(({ path }, n) => ({ path, contentType: 'application/grpc', body: bodies[n] })));
  });

  it('waits for the window of the connection rather than overrun it', async () => {
    const address = await echo([]);
    const body = Buffer.alloc(60_000, 'y');
    let answered = 0;
    await new Promise<void>((resolve, reject) => {
      connection = new GrpcConnection(
        address,
        () => {
          for (let n = 0; n < 5; n += 1) {
            connection?.unary('/large', body, (bytes) => {
              expect(bytes.length).toBe(body.length);
              answered += 1;
              if (answered === 5) resolve();
            });
          }
        },
        reject,
      );
    });
    expect(answered).toBe(5);
  });

  it('reports a call that ends without a message', async () => {
    const address = await echo([]);
    const error = await new Promise<Error>((resolve) => {
      connection = new GrpcConnection(
        address,
        () => connection?.unary('/refuse', Buffer.from('x'), () => undefined),
        resolve,
      );
    });
    expect(error.message).toBe('etcd refused /refuse');
  });
});
