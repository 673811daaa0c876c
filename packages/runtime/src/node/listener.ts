/**
 * A listening port: an HTTP server that upgrades to WebSocket and answers plain requests through the handler it was given. What
 * a web page could send is refused before anything else looks at it (http-rules.ts).
 */

import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

import { formatAddress, parseAddress } from '../address.ts';
import { answer, plain, refusalOf } from '../http-rules.ts';
import type { RequestHead } from '../http-rules.ts';
import type { Logger } from '../logger.ts';
import { ListenError } from '../network.ts';
import type { Address, HttpResponse, Listener, ListenOptions } from '../network.ts';
import { NodeConnection } from './connection.ts';
import { errnoOf } from './disk-errors.ts';
import { wsOptions } from './ws-options.ts';

/** A request whose head takes longer is cut off: idle sockets must not pile up. */
const REQUEST_TIMEOUT_MS = 10_000;

const SERVER_OPTIONS = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  // How often these are looked at; by default every 30 s.
  connectionsCheckingInterval: REQUEST_TIMEOUT_MS / 10,
  // A missing Host is refused by the same rule as a foreign one.
  requireHostHeader: false,
};

export async function listen(options: ListenOptions, logger: Logger): Promise<Listener> {
  const { host, port } = parseAddress(options.address);
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    void answerHttp(request, response, options, logger);
  });
  const webSockets = new WebSocketServer({ noServer: true, clientTracking: true, ...wsOptions(options.maxFrameBytes) });
  server.on('upgrade', (request, stream, head) => {
    const refusal = refusalOf(headOf(request, true), options.allowedHosts);
    if (refusal !== undefined) return refuseUpgrade(stream, refusal);
    webSockets.handleUpgrade(request, stream, head, (webSocket) => {
      const { socket } = request;
      const remoteAddress = formatAddress(socket.remoteAddress ?? 'unknown', socket.remotePort ?? 0);
      const { maxFrameBytes } = options;
      const connection = new NodeConnection('server', webSocket, socket, { remoteAddress, maxFrameBytes });
      options.onConnection(connection);
      connection.holdUntilHandled();
    });
  });
  await bind(server, host, port, options.address);
  server.on('error', (error) =>
    logger.error({ err: error, address: options.address }, 'a connection was not accepted'),
  );
  const bound = server.address();
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port;
  return { address: formatAddress(host, boundPort), close: () => closeServer(server, webSockets) };
}

function bind(server: Server, host: string, port: number, address: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(listenError(address, error));
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

function listenError(address: Address, error: Error): ListenError {
  const [code, reason] = listenFailure(address, error);
  return new ListenError(code, `cannot listen on ${address}: ${reason}`, { cause: error });
}

function listenFailure(address: Address, error: Error): readonly [ListenError['code'], string] {
  const { port } = parseAddress(address);
  switch (errnoOf(error) ?? '') {
    case 'EADDRINUSE': {
      const find = `"lsof -nP -iTCP:${port} -sTCP:LISTEN" or "ss -ltnp sport = :${port}"`;
      return ['ADDRESS_IN_USE', `the port is in use; find who has it with ${find}, or choose another port`];
    }
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return ['ADDRESS_NOT_AVAILABLE', 'this machine has no such address; listen on one of its own'];
    case 'EACCES':
    case 'EPERM':
      return ['NOT_PERMITTED', 'this user may not; choose a port above 1023, or give the process the right to'];
    default:
      return ['FAILED', error.message];
  }
}

function closeServer(server: Server, webSockets: WebSocketServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const webSocket of webSockets.clients) webSocket.terminate();
    server.closeAllConnections();
  });
}

function headOf(request: IncomingMessage, upgrade: boolean): RequestHead {
  const { host, origin } = request.headers;
  return { upgrade, method: request.method ?? '', hostHeader: host, originHeader: origin };
}

function refuseUpgrade(stream: Duplex, { status, contentType, body }: HttpResponse): void {
  stream.on('error', () => stream.destroy());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}

async function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenOptions,
  logger: Logger,
): Promise<void> {
  const head = headOf(request, false);
  const target = request.url ?? '/';
  try {
    const refusal = refusalOf(head, options.allowedHosts);
    reply(response, refusal ?? (await answer(options.http?.bind(options), { method: head.method, target })));
  } catch (error) {
    logger.error({ err: error, method: head.method, target }, 'an HTTP request failed');
    if (!response.headersSent) reply(response, plain(500, 'internal error; the log of the server has more'));
    else response.destroy();
  }
}

function reply(response: ServerResponse, { status, contentType, body }: HttpResponse): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
