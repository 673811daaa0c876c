/** A listening HTTP server around a fetch-style handler, and its end: no new connections, then the requests under way, then the rest. */

import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';

import { createAdaptorServer } from '@hono/node-server';

import type { HttpHandler } from './http.ts';

/** A request whose head, or which as a whole, takes longer to arrive is cut off: they must not pile up. */
const HEAD_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const CHECK_INTERVAL_MS = 1_000;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
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
export async function listen(handler: HttpHandler, address: ListenAddress): Promise<HttpServer> {
  let stopping = false;
  const server = createAdaptorServer({
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: HEAD_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    },
    async fetch(request: Request) {
      const response = await handler(request);
      // A client that keeps its connection must not send its next request into the stop.
      if (stopping) response.headers.set('connection', 'close');
      return response;
    },
  }) as Server;
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
    },
  };
}
