/**
 * An S3 server of our own, in the process of the test and in memory: the part of the interface that the fence uses, in path style. It is no S3. It
 * follows what the documentation says of PutObject, GetObject, DeleteObject and ListObjectsV2: ETags that are MD5 digests of the content,
 * If-Match and If-None-Match judged in one step with the write, 412, 409, 404, and errors in XML. Signatures are not looked at.
 */

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

interface StoredObject {
  readonly data: Buffer;
  readonly etag: string;
}

/** What becomes of a request. `lose`: it is done, and its connection ends before the answer. */
type Fault = 'lose' | 'drop' | 'conflict' | 'unavailable' | 'ignore-conditions' | undefined;

export interface S3Server {
  readonly endpoint: string;
  /** Decides the fault of each request. */
  fault: (method: string, key: string) => Fault;
  readonly requests: { readonly method: string; readonly key: string }[];
  keys(bucket: string): readonly string[];
  put(bucket: string, key: string, text: string): void;
  text(bucket: string, key: string): string | undefined;
  delete(bucket: string, key: string): void;
  /** All connections end, in the middle of what they do with `abruptly`; then it listens again. What was stored is stored. */
  restart(abruptly: boolean): Promise<void>;
  close(): Promise<void>;
}

const PAGE = 3;

export async function startS3Server(buckets: readonly string[]): Promise<S3Server> {
  const stored = new Map(buckets.map((name) => [name, new Map<string, StoredObject>()]));
  const sockets = new Set<Socket>();
  const state: { fault: S3Server['fault'] } = { fault: () => undefined };
  const requests: { method: string; key: string }[] = [];
  let server: Server;
  const listen = async (port: number): Promise<number> => {
    server = createServer((request, response) => {
      void handle(request, response).catch(() => request.socket.destroy());
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return (server.address() as AddressInfo).port;
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://s3');
    const [, bucket = '', ...rest] = url.pathname.split('/').map(decodeURIComponent);
    const key = rest.join('/');
    const method = request.method ?? 'GET';
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push({ method, key });
    const fault = state.fault(method, key);
    if (fault === 'drop') return void request.socket.destroy();
    if (fault === 'unavailable') return failure(response, 503, 'SlowDown', 'Please reduce your request rate.');
    if (fault === 'conflict') {
      return failure(response, 409, 'ConditionalRequestConflict', 'A conflicting operation occurred.');
    }
    const objects = stored.get(bucket);
    const answer = fault === 'lose' ? lost(response, request.socket) : response;
    if (objects === undefined) return failure(answer, 404, 'NoSuchBucket', 'The specified bucket does not exist');
    if (method === 'PUT') return put(objects, key, request, Buffer.concat(chunks), answer, fault);
    if (method === 'GET' && key === '') return list(objects, url.searchParams, answer);
    if (method === 'GET') return get(objects, key, answer);
    if (method === 'DELETE') {
      objects.delete(key);
      return void answer.writeHead(204).end();
    }
    failure(answer, 405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
  };
  const port = await listen(0);
  const stop = async (abruptly: boolean): Promise<void> => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    if (abruptly) for (const socket of sockets) socket.destroy();
    else server.closeIdleConnections();
    await closed;
  };
  return {
    endpoint: `http://127.0.0.1:${port}`,
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
    },
    requests,
    keys: (bucket) => [...(stored.get(bucket)?.keys() ?? [])].sort(),
    put: (bucket, key, text) => void stored.get(bucket)?.set(key, objectOf(Buffer.from(text))),
    text: (bucket, key) => stored.get(bucket)?.get(key)?.data.toString(),
    delete: (bucket, key) => void stored.get(bucket)?.delete(key),
    restart: async (abruptly) => {
      await stop(abruptly);
      await listen(port);
    },
    close: () => stop(true),
  };
}

/** Does all that the request asks for, and answers nothing. */
function lost(response: ServerResponse, socket: Socket): ServerResponse {
  response.writeHead = () => {
    socket.destroy();
    return response;
  };
  return response;
}

function objectOf(data: Buffer): StoredObject {
  return { data, etag: `"${createHash('md5').update(data).digest('hex')}"` };
}

function put(
  objects: Map<string, StoredObject>,
  key: string,
  { headers }: IncomingMessage,
  data: Buffer,
  response: ServerResponse,
  fault: Fault,
): void {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  const present = objects.get(key);
  if (fault !== 'ignore-conditions') {
    if (ifMatch !== undefined && present === undefined) {
      return failure(response, 404, 'NoSuchKey', 'The specified key does not exist.');
    }
    if ((ifMatch !== undefined && ifMatch !== present?.etag) || (ifNoneMatch === '*' && present !== undefined)) {
      return failure(
        response,
        412,
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold',
      );
    }
  }
  const object = objectOf(data);
  objects.set(key, object);
  response.writeHead(200, { etag: object.etag }).end();
}

function get(objects: ReadonlyMap<string, StoredObject>, key: string, response: ServerResponse): void {
  const object = objects.get(key);
  if (object === undefined) return failure(response, 404, 'NoSuchKey', 'The specified key does not exist.');
  response.writeHead(200, { etag: object.etag, 'content-length': object.data.length }).end(object.data);
}

function list(objects: ReadonlyMap<string, StoredObject>, query: URLSearchParams, response: ServerResponse): void {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, PAGE);
  const more = keys.length > page.length;
  const contents = page.map((key) => `<Contents><Key>${escaped(key)}</Key></Contents>`).join('');
  const next = more ? `<NextContinuationToken>${escaped(page.at(-1) ?? '')}</NextContinuationToken>` : '';
  xml(response, 200, `<ListBucketResult><IsTruncated>${more}</IsTruncated>${contents}${next}</ListBucketResult>`);
}

function failure(response: ServerResponse, status: number, code: string, message: string): void {
  xml(response, status, `<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}

function xml(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0" encoding="UTF-8"?>${body}`);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
