/** A Redis server of its own: Debian's package, its data in a temporary directory, on 127.0.0.1 and a free port. */

import { hasRedis, prepareRedis, runServer, type RunningServer } from '@holdfast/database-servers';
import { Redis } from 'ioredis';

export { hasRedis };
export type RedisServer = RunningServer;

/** As docs/fences-redis.md says that it must be set. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'] as const;
/** A cluster of one server: it has all slots, and refuses what a cluster refuses. */
export const CLUSTER = [...DURABLE, '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] as const;

export async function startRedis(settings: readonly string[] = DURABLE): Promise<RedisServer> {
  const prepared = await prepareRedis(settings);
  const inCluster = settings.includes('--cluster-enabled');
  let slots = !inCluster;
  const serves = async (): Promise<boolean> => {
    if (!(await answers(prepared.port, inCluster && slots))) return false;
    if (!slots) {
      await takeAllSlots(prepared.port);
      slots = true;
      return false;
    }
    return true;
  };
  return await runServer(prepared, { name: 'Redis', serves });
}

/** A server of a cluster refuses writes for two seconds behind its start. */
async function answers(port: number, inCluster: boolean): Promise<boolean> {
  const client = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (!inCluster) return (await client.ping()) === 'PONG';
    return String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

async function takeAllSlots(port: number): Promise<void> {
  const client = new Redis(port, '127.0.0.1');
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  client.disconnect();
}
