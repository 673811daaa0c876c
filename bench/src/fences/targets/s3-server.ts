/**
 * The part of S3 that a fence uses: PUT with If-Match and If-None-Match judged in one step with the write, and GET, in path style. Data that
 * nobody reads again are dropped, so that a long measurement has room.
 */

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface StoredObject {
  readonly data: Buffer;
  readonly etag: string;
}

/** Objects, oldest first. */
const MAX_OBJECTS = 10_000;

export interface S3Server {
  readonly endpoint: string;
  close(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, StoredObject>();
  const server = createServer((request, response) => {
    answer(objects, request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  objects: Map<string, StoredObject>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const key = new URL(request.url ?? '/', 'http://s3').pathname;
  const present = objects.get(key);
  if (request.method === 'GET') {
    if (present === undefined) return failure(response, 404, 'NoSuchKey');
    response.writeHead(200, { etag: present.etag, 'content-length': present.data.length }).end(present.data);
    return;
  }
  if (request.method !== 'PUT') return failure(response, 405, 'MethodNotAllowed');
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  const wrong = (ifMatch !== undefined && ifMatch !== present?.etag) || (ifNoneMatch === '*' && present !== undefined);
  if (wrong) return failure(response, 412, 'PreconditionFailed');
  const data = Buffer.concat(chunks);
  const etag = `"${createHash('md5').update(data).digest('hex')}"`;
  objects.delete(key);
  objects.set(key, { data, etag });
  for (const oldest of objects.keys()) {
    if (objects.size <= MAX_OBJECTS) break;
    objects.delete(oldest);
  }
  response.writeHead(200, { etag }).end();
}

function failure(response: ServerResponse, status: number, code: string): void {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
}
