/** Writes of many connections to a `fenced-kvd`, or to what has no fence. */

import { rounds, valueOf, type Write } from '../pair.ts';
import { keyOf } from './keys.ts';
import { openConnections, type PutConnection } from './put-connection.ts';

export interface HttpWrites {
  readonly write: Write;
  close(): void;
}

const TOKEN = 5;

/** All under one token, in one bucket. */
export async function fencedWrites(url: string, clients: number): Promise<HttpWrites> {
  const headers = { 'fencing-token': `${TOKEN}`, 'content-type': 'application/octet-stream' };
  return writesBy(await openConnections(url, clients, headers), '/v1/buckets/jobs/keys');
}

export async function plainWrites(url: string, clients: number): Promise<HttpWrites> {
  return writesBy(await openConnections(url, clients, { 'content-type': 'application/octet-stream' }), '');
}

function writesBy(connections: readonly PutConnection[], path: string): HttpWrites {
  const next = rounds(connections.length);
  return {
    async write(client) {
      const round = next(client);
      await connections[client]?.put(`${path}/${keyOf(client, round)}`, valueOf(round));
    },
    close() {
      for (const connection of connections) connection.close();
    },
  };
}
