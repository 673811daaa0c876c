/**
 * A listening HTTP server around a fetch-style handler: how many connections it takes, in which turns it answers (turns.ts), and its
 * end, which is no new connections, then the requests under way, then the rest.
 */

import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { getRequestListener } from '@hono/node-server';
import { PacedTurns, SECURITY_HEADERS } from '@holdfast/runtime';
import { HttpStream, SocketLimits, nodeClock } from '@holdfast/runtime/node';

import type { HttpHandler } from './handler.ts';
import { pathProblem } from './path.ts';
import { RequestTurns } from './turns.ts';
import type { TurnLimits } from './turns.ts';
import { MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS } from '../limits.ts';

/** A request whose head takes longer to arrive is cut off: they must not pile up. */
const HEAD_TIMEOUT_MS = 10_000;
/** The same, of the whole request. */
const REQUEST_TIMEOUT_MS = 60_000;
const CHECK_INTERVAL_MS = 1_000;

const SERVER_OPTIONS = {
  headersTimeout: HEAD_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_INTERVAL_MS,
};

/** There is nothing else that the event loop would have to be left to. */
const NO_REST = 0;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface ServerOptions {
  /** @default 4,096 */
  readonly maxConnections?: number;
  /** Of one address that is not a loopback one. @default 256 */
  readonly maxConnectionsPerAddress?: number;
  /** @internal Tests lower them. */
  readonly turns?: Partial<TurnLimits>;
  /** A connection was refused or closed for what it took. `reason` is one of few. */
  readonly refused?: (reason: string, remoteAddress: string, problem: string) => void;
}

export interface HttpServer {
  readonly url: string;
  /** Resolves when every connection is closed; requests still under way after `graceMs` are cut off. */
  close(graceMs: number): Promise<void>;
}

/** `host:port`, IPv6 hosts in brackets. Undefined where the text is something else. */
export function parseAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]]+)):(?<port>[0-9]{1,5})$/.exec(text);
  const host = match?.groups?.['v6'] ?? match?.groups?.['name'];
  const port = Number(match?.groups?.['port']);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** Rejects with the system's error (EADDRINUSE, …). */
export async function listen(
  handler: HttpHandler,
  address: ListenAddress,
  options: ServerOptions = {},
): Promise<HttpServer> {
  const refused = options.refused ?? (() => {});
  let stopping = false;
  const answer = getRequestListener(
    async (request) => {
      const response = await handler(request);
      // A client that keeps its connection must not send its next request into the stop.
      if (stopping) response.headers.set('connection', 'close');
      return response;
    },
    { overrideGlobalObjects: false },
  );
  const turns = new RequestTurns(
    {
      async answer(incoming, outgoing) {
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) outgoing.setHeader(name, value);
        // Before anything makes a URL of it, which would be another path than the one that a proxy has judged.
        const problem = pathProblem(incoming.url ?? '');
        if (problem !== undefined) refuse(outgoing, problem);
        else await answer(incoming, outgoing);
      },
      cut: refused,
    },
    options.turns,
  );
  const server = createServer(SERVER_OPTIONS, (incoming, outgoing) => turns.request(incoming, outgoing));
  // Who has said all that it wants to say is still answered, what waits for its turn included.
  Object.assign(server, { httpAllowHalfOpen: true });
  const sockets = new SocketLimits(
    {
      maxSockets: options.maxConnections ?? MAX_CONNECTIONS,
      maxSocketsPerAddress: options.maxConnectionsPerAddress ?? MAX_CONNECTIONS_PER_ADDRESS,
    },
    { refused },
  );
  const pieces = new PacedTurns(nodeClock(), NO_REST);
  const [serveHttp] = server.listeners('connection');
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    sockets.accepted(socket);
    if (!socket.destroyed) serveHttp?.call(server, new HttpStream(socket, (work) => pieces.add(work)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    url: `http://${host}:${port}`,
    async close(graceMs) {
      stopping = true;
      const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      clearTimeout(cutOff);
      pieces.stop();
    },
  };
}

function refuse(outgoing: ServerResponse, problem: string): void {
  outgoing.writeHead(400, { 'Content-Type': 'application/json' });
  outgoing.end(JSON.stringify({ code: 'INVALID_ARGUMENT', message: problem, argument: 'path' }));
}
