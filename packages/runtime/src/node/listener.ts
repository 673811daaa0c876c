/**
 * A listening port: an HTTP server that upgrades to WebSocket and answers plain requests through the handler it was given. What
 * a web page could send is refused before anything else looks at it (http-rules.ts).
 */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

import { formatAddress, parseAddress } from '../network/address.ts';
import { answer, plain, refusalOf } from '../network/http-rules.ts';
import type { RequestHead, RequestRefusal } from '../network/http-rules.ts';
import type { Logger } from '../logger.ts';
import { AGAIN_HEADER, ListenError } from '../network/network.ts';
import type { HttpRequest, HttpResponse } from '../network/http.ts';
import type { Address } from '../network/address.ts';
import type { Listener, ListenerRefusal, ListenOptions } from '../network/network.ts';
import { securityProblem } from '../network/transport-security.ts';
import { addressOf, bind, portOf } from './bind.ts';
import { PacedAccepts } from '../network/paced-accepts.ts';
import { RefusalLog } from '../network/refusal-log.ts';
import { nodeClock } from './clock.ts';
import { NodeConnection } from './websocket/connection.ts';
import { HttpConnections } from './http/http-connections.ts';
import { HttpFailures, refuse, unreadable } from './http/http-response.ts';
import { HttpStream } from './http/http-stream.ts';
import { DEFAULT_INPUT_LIMITS, InputBudget } from './websocket/input-budget.ts';
import { SocketLimits } from './socket-limits.ts';
import { wsOptions } from './websocket/ws-options.ts';

/** A request whose head takes longer is cut off: idle sockets must not pile up. */
const REQUEST_TIMEOUT_MS = 10_000;

/** A plain connection on which so long nothing has moved, because its answer is not read say, is closed. */
const IDLE_TIMEOUT_MS = 10_000;

/** Who was asked to come again has this long to read it. */
const SENT_AWAY_GRACE_MS = 1_000;

const SERVER_OPTIONS = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  // How often these are looked at; by default every 30 s.
  connectionsCheckingInterval: REQUEST_TIMEOUT_MS / 10,
  // A missing Host is refused by the same rule as a foreign one.
  requireHostHeader: false,
};

export async function listen(options: ListenOptions, logger: Logger): Promise<Listener> {
  const insecure = securityProblem(options);
  if (insecure !== undefined) throw new ListenError('FAILED', `cannot listen on ${options.address}: ${insecure}`);
  const { host, port } = parseAddress(options.address);
  const { maxHttpBodyBytes = 0 } = options;
  const log = new RefusalLog('closed a connection, or refused a request', { clock: nodeClock(), logger });
  const counts = new Map<ListenerRefusal, number>();
  const refused = (reason: ListenerRefusal, remoteAddress: Address, problem: string): void => {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    log.refused(reason, remoteAddress, problem, { address: options.address });
  };
  const input = new InputBudget(DEFAULT_INPUT_LIMITS);
  const sockets = new SocketLimits(options, { refused });
  const server = createServer(SERVER_OPTIONS);
  server.timeout = IDLE_TIMEOUT_MS;
  const clock = nodeClock();
  const accepts = new PacedAccepts(clock);
  const waiting = new Set<Socket>();
  const failures = new HttpFailures(clock, logger);
  const http = new HttpConnections({
    clock,
    maxBodyBytes: maxHttpBodyBytes,
    refusal: (request) => httpRefusal(request, options, refused),
    answer: (request) => answerHttp(request, options, failures),
    failed: (error, { method = '', url = '' }) => failures.note(error, { method, target: url }),
    busy: (remoteAddress, problem) => refused('http-too-many', remoteAddress, problem),
  });
  const webSockets = new WebSocketServer({ noServer: true, clientTracking: true, ...wsOptions(options.maxFrameBytes) });
  // Each connection goes to the HTTP server as a stream that gives its parser little at a time.
  const [serveHttp] = server.listeners('connection');
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    sockets.accepted(socket);
    if (socket.destroyed) return;
    // Until the HTTP server has it nobody else hears of an error.
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    const againInMs = accepts.arrived(() => {
      waiting.delete(socket);
      if (socket.destroyed) return;
      socket.off('error', onError);
      const stream: HttpStream = new HttpStream(socket, (work) => http.later(stream, work));
      serveHttp?.call(server, stream);
    });
    if (againInMs === undefined) {
      if (accepts.waiting > 0) waiting.add(socket);
    } else {
      const problem = 'more connections come than can be accepted; it was asked to come again later';
      refused('sent-away', addressOf(socket), problem);
      sendAway(socket, againInMs);
    }
  });
  // Whatever it expects, a body sent on demand say: it is answered like any other.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) =>
      http.request(streamOf(request), request, response),
    );
  }
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    if (stream.writable && http.idle(stream as Duplex as HttpStream)) refuse(stream, plain(...unreadable(error)));
    else stream.destroy();
  });
  server.on('upgrade', (request, _stream, head) => {
    const stream = streamOf(request);
    const { socket } = stream;
    const idle = http.idle(stream);
    const rest = stream.detach();
    if (!idle) return socket.destroy();
    const refusal = refusalOf(headOf(request, true), options);
    if (refusal !== undefined) {
      note(refusal, socket, refused);
      return refuse(socket, refusal.response);
    }
    webSockets.handleUpgrade(request, socket, Buffer.concat([head, rest]), (webSocket) => {
      const remoteAddress = addressOf(socket);
      const { maxFrameBytes, maxGreetingBytes } = options;
      const limits = { remoteAddress, maxFrameBytes, maxGreetingBytes, input, refused };
      const connection = new NodeConnection('server', webSocket, socket, limits);
      options.onConnection(connection);
      connection.holdUntilHandled();
    });
  });
  await bind(server, host, port, options.address);
  server.on('error', (error) =>
    logger.error({ err: error, address: options.address }, 'a connection was not accepted'),
  );
  return {
    address: formatAddress(host, portOf(server, port)),
    get load() {
      return { sockets: sockets.sockets, waiting: accepts.waiting, unfinishedBytes: input.bytes, refused: counts };
    },
    close: async () => {
      http.stop();
      accepts.stop();
      for (const socket of waiting) socket.destroy();
      await closeServer(server, webSockets);
      input.stop();
      log.stop();
    },
  };
}

function closeServer(server: Server, webSockets: WebSocketServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const webSocket of webSockets.clients) webSocket.terminate();
    server.closeAllConnections();
  });
}

/** Without having read what it asks: that would cost as much as an answer. */
function sendAway(socket: Socket, againInMs: number): void {
  const body = 'many connections come at once; come again in a moment\n';
  const head = [
    'HTTP/1.1 503 Service Unavailable',
    `Retry-After: ${Math.ceil(againInMs / 1_000)}`,
    `${AGAIN_HEADER}: ${againInMs}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // What it sends meanwhile is read, or the system would take the answer back with a reset.
  socket.resume();
  socket.on('end', () => socket.destroy());
  socket.setTimeout(SENT_AWAY_GRACE_MS, () => socket.destroy());
}

/** What the listener gave the HTTP server as the socket of this request. */
function streamOf(request: IncomingMessage): HttpStream {
  return request.socket as Duplex as HttpStream;
}

function headOf({ headers, method = '' }: IncomingMessage, upgrade: boolean): RequestHead {
  const fetchSite = headers['sec-fetch-site'];
  return {
    upgrade,
    method,
    hostHeader: headers.host,
    originHeader: headers.origin,
    fetchSiteHeader: Array.isArray(fetchSite) ? fetchSite.join() : fetchSite,
  };
}

type Refused = (reason: ListenerRefusal, remoteAddress: Address, problem: string) => void;

function note({ reason, response }: RequestRefusal, socket: Socket, refused: Refused): void {
  if (reason !== undefined) refused(reason, addressOf(socket), response.body.trim());
}

/** What a web page could send, a foreign host, and methods that nobody serves. */
function httpRefusal(request: IncomingMessage, options: ListenOptions, refused: Refused): HttpResponse | undefined {
  const refusal = refusalOf(headOf(request, false), options);
  if (refusal === undefined) return undefined;
  note(refusal, streamOf(request).socket, refused);
  return refusal.response;
}

function answerHttp(
  request: HttpRequest,
  options: ListenOptions,
  failures: HttpFailures,
): HttpResponse | Promise<HttpResponse> {
  try {
    const given = answer(options.http?.bind(options), request);
    return given instanceof Promise ? given.catch((error: unknown) => failures.answer(error, request)) : given;
  } catch (error) {
    return failures.answer(error, request);
  }
}
