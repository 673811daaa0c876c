/** The clients that people have, each on one server and on a cluster. */

import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import type { RedisClient } from '../../src/index.ts';

export interface OpenClient {
  readonly client: RedisClient;
  /** Any command, without a fence. */
  readonly plain: (...words: readonly string[]) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

export type Kind = 'ioredis' | 'node-redis' | 'ioredis in a cluster' | 'node-redis in a cluster';

export const KINDS: readonly Kind[] = ['ioredis', 'node-redis', 'ioredis in a cluster', 'node-redis in a cluster'];

export async function openClient(kind: Kind, port: number): Promise<OpenClient> {
  switch (kind) {
    case 'ioredis': {
      // What the tests stop and start is back within moments.
      const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 20, maxRetriesPerRequest: null });
      client.on('error', () => undefined);
      return {
        client,
        plain: (command = '', ...words) => client.call(command, ...words),
        close: async () => client.disconnect(),
      };
    }
    case 'node-redis': {
      const client = createClient({ socket: { port, host: '127.0.0.1', reconnectStrategy: () => 20 } });
      client.on('error', () => undefined);
      await client.connect();
      return { client, plain: (...words) => client.sendCommand([...words]), close: async () => client.destroy() };
    }
    case 'ioredis in a cluster': {
      const client = new Cluster([{ port, host: '127.0.0.1' }], { clusterRetryStrategy: () => 20 });
      client.on('error', () => undefined);
      return {
        client,
        plain: (command = '', ...words) => client.call(command, ...words),
        close: async () => client.disconnect(),
      };
    }
    case 'node-redis in a cluster': {
      const client = createCluster({ rootNodes: [{ socket: { port, host: '127.0.0.1' } }] });
      client.on('error', () => undefined);
      await client.connect();
      return {
        client,
        plain: (...words) => client.sendCommand(words[1], false, [...words]),
        close: async () => client.destroy(),
      };
    }
  }
}
