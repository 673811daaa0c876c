/** One PUT to a service on node:http, in this process, whose handler writes a file durably; with its floors in files as well. */

import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { fencedFetch, fenceNode, fileFloors } from '@holdfast/fence-http';

import { holders, rounds, valueOf, type Pair, type PairSource } from '../pair.ts';
import { Trips } from '../trips.ts';
import { replaceDurably } from './replace-durably.ts';

export const http: PairSource = {
  settings: 'node:http in the process of the clients, fetch, fileFloors; a file and a scope for each client',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const [data, floors] = [join(directory, 'data'), join(directory, 'floors')];
  for (const folder of [data, floors]) mkdirSync(folder);
  for (let client = 0; client < clients; client += 1) mkdirSync(join(data, `${client}`));
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await replaceDurably(join(data, clientOf(request)), 'state', Buffer.concat(chunks));
    response.writeHead(204).end();
  };
  const scope = (request: IncomingMessage): string => `jobs-${clientOf(request)}`;
  const plain = await listening((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const fencing = fenceNode({ floors: fileFloors(floors), scope }, handle);
  const fenced = await listening((request, response) => void fencing(request, response));
  return {
    ...writesTo(urlOf(plain), urlOf(fenced), clients),
    pids: () => [],
    async close() {
      for (const server of [plain, fenced]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      for (const folder of [data, floors]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function writesTo(plain: string, fenced: string, clients: number): Pick<Pair, 'without' | 'through' | 'trips'> {
  const trips = new Trips();
  const counted: typeof fetch = (input, init) => trips.during(() => fetch(input, init));
  const holderOf = holders(clients);
  const fences = Array.from({ length: clients }, (_, client) => fencedFetch(holderOf(client), counted));
  const next = rounds(clients);
  const put = async (by: typeof counted, url: string, client: number): Promise<void> => {
    const response = await by(`${url}/${client}`, { method: 'PUT', body: new Uint8Array(valueOf(next(client))) });
    const text = await response.text();
    if (response.status !== 204) throw new Error(`the service answered ${response.status}: ${text}`);
  };
  return {
    trips,
    without: (client) => put(counted, plain, client),
    through: (client) => put(fences[client] ?? counted, fenced, client),
  };
}

function clientOf(request: IncomingMessage): string {
  return String(Number(request.url?.slice(1)));
}

async function listening(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
