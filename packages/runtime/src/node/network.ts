/**
 * The network of the operating system: WebSocket connections (ws) over TCP, and plain HTTP on the same port. One `send` is one
 * binary frame and one system call.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { WebSocket, WebSocketServer, type RawData } from 'ws';

import {
  DialError,
  ListenError,
  type Address,
  type Connection,
  type ConnectionHandler,
  type DialFailure,
  type DialOptions,
  type HttpResponse,
  type ListenOptions,
  type Listener,
  type Logger,
  type Network,
} from '../index.ts';

const MAX_CLOSE_REASON_BYTES = 123;
const KEEP_ALIVE_MS = 30_000;

export function nodeNetwork(logger: Logger): Network {
  return { listen: (options) => listen(options, logger), dial };
}

async function listen(options: ListenOptions, logger: Logger): Promise<Listener> {
  const [host, port] = splitAddress(options.address);
  const server = createServer((request, response) => void answerHttp(request, response, options, logger));
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: options.maxFrameBytes,
    skipUTF8Validation: true,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const problem =
      request.headers.origin === undefined ? hostProblem(request, options) : 'requests of web pages are refused';
    if (problem !== undefined) {
      socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${problem}\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      options.onConnection(adoptSocket(webSocket, remoteAddress(socket)));
    });
  });
  await bind(server, host, port, options.address);
  const bound = server.address() as AddressInfo;
  return {
    address: `${host}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function bind(server: Server, host: string, port: number, address: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const code =
        error.code === 'EADDRINUSE'
          ? 'ADDRESS_IN_USE'
          : error.code === 'EADDRNOTAVAIL'
            ? 'ADDRESS_NOT_AVAILABLE'
            : 'FAILED';
      reject(new ListenError(code, `cannot listen on ${address}: ${error.message}`, { cause: error }));
    });
    server.listen({ host: host.replace(/^\[|\]$/g, ''), port }, resolve);
  });
}

/** Undefined when the request names a host that it may. */
function hostProblem(request: IncomingMessage, options: ListenOptions): string | undefined {
  if (options.allowedHosts === undefined) return undefined;
  const { host } = request.headers;
  if (host === undefined) return 'the Host header is missing';
  const name = host.replace(/:\d+$/, '');
  return options.allowedHosts.includes(name) ? undefined : `the host "${name}" is not served here`;
}

async function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenOptions,
  logger: Logger,
): Promise<void> {
  const problem =
    request.headers.origin === undefined ? hostProblem(request, options) : 'requests of web pages are refused';
  if (problem !== undefined) {
    reply(response, { status: 403, contentType: 'text/plain; charset=utf-8', body: `${problem}\n` });
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    reply(response, { status: 405, contentType: 'text/plain; charset=utf-8', body: 'only GET and HEAD are served\n' });
    return;
  }
  if (options.http === undefined) {
    reply(response, { status: 426, contentType: 'text/plain; charset=utf-8', body: 'only WebSocket is served\n' });
    return;
  }
  try {
    reply(response, await options.http({ method: request.method, target: request.url ?? '/' }));
  } catch (error) {
    logger.error({ error, target: request.url }, 'an HTTP request failed');
    reply(response, { status: 500, contentType: 'text/plain; charset=utf-8', body: 'internal error; see the log\n' });
  }
}

function reply(response: ServerResponse, { status, contentType, body }: HttpResponse): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

function dial({ address, timeoutMs, maxFrameBytes }: DialOptions): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(`ws://${address}`, {
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      skipUTF8Validation: true,
      followRedirects: false,
    });
    let settled = false;
    const fail = (failure: DialFailure, message: string, cause?: Error): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      webSocket.on('error', ignore);
      webSocket.terminate();
      reject(new DialError(failure, `cannot connect to ${address}: ${message}`, { cause }));
    };
    const timer = setTimeout(() => fail('timeout', `no answer within ${timeoutMs} ms`), timeoutMs);
    webSocket.once('unexpected-response', (_request, response) =>
      fail('failed', `it answered HTTP ${response.statusCode}`),
    );
    webSocket.once('error', (error: NodeJS.ErrnoException) => {
      fail(error.code === 'ECONNREFUSED' ? 'refused' : 'failed', error.message, error);
    });
    webSocket.once('open', () => {
      settled = true;
      clearTimeout(timer);
      webSocket.removeAllListeners('error');
      resolve(adoptSocket(webSocket, address));
    });
  });
}

function ignore(): void {}

/** Frames that come before the handler is set, in the microtasks of the dial, are kept for it. */
function adoptSocket(webSocket: WebSocket, remote: Address): Connection {
  let handler: ConnectionHandler | undefined;
  let early: Uint8Array[] = [];
  let closeReason: string | undefined;
  let failure: string | undefined;

  webSocket.binaryType = 'nodebuffer';
  const socket = (webSocket as unknown as { readonly _socket: Socket })._socket;
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  webSocket.on('message', (data: RawData, isBinary: boolean) => {
    if (!isBinary) {
      failure = 'a text frame came; only binary ones are allowed';
      webSocket.close(1003, failure);
      return;
    }
    if (handler === undefined) early.push(data as Buffer);
    else handler.frame(data as Buffer);
  });
  webSocket.on('error', (error) => {
    failure = error.message;
  });
  webSocket.on('close', (code: number, reason: Buffer) => {
    closeReason = failure ?? (reason.length > 0 ? reason.toString('utf8') : `closed (${code})`);
    handler?.close(closeReason);
  });

  return {
    remoteAddress: remote,
    get bufferedBytes() {
      return webSocket.bufferedAmount;
    },
    get open() {
      return webSocket.readyState === WebSocket.OPEN;
    },
    setHandler(next) {
      handler = next;
      const frames = early;
      early = [];
      for (const frame of frames) next.frame(frame);
      if (closeReason !== undefined) next.close(closeReason);
    },
    send(frame) {
      if (webSocket.readyState === WebSocket.OPEN) webSocket.send(frame, ignore);
    },
    close(reason = '') {
      webSocket.close(1000, shorten(reason));
    },
    destroy() {
      webSocket.terminate();
    },
  };
}

function shorten(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > MAX_CLOSE_REASON_BYTES) text = text.slice(0, -1);
  return text;
}

function remoteAddress(socket: Socket): Address {
  return `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`;
}

function splitAddress(address: Address): [string, number] {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon), Number(address.slice(colon + 1))];
}
