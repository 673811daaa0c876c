/** One SET, on Debian's Redis with its log synced before each answer. */

import { join } from 'node:path';

import { hasRedis, prepareRedis } from '@holdfast/database-servers';
import { fence } from '@holdfast/fence-redis';
import { Redis } from 'ioredis';

import { ServerProcess } from '../../systems/server-process.ts';
import { holders, NotInstalledError, rounds, valueOf, type Pair, type PairSource } from '../pair.ts';
import { Trips } from '../trips.ts';

const READY_TIMEOUT_MS = 60_000;

export const redis: PairSource = {
  settings: 'appendonly yes, appendfsync always, ioredis; each client has a connection, a key and a scope of its own',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  if (!hasRedis()) throw new NotInstalledError('Redis', 'redis-server');
  const { command, args, port, user } = await prepareRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  const server = new ServerProcess({
    name: 'redis',
    command,
    args,
    directory: user.directory,
    logFile: join(directory, 'redis.log'),
  });
  server.launch();
  const connections = Array.from({ length: clients }, () => {
    const connection = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: null });
    connection.on('error', () => undefined);
    return connection;
  });
  const close = async (): Promise<void> => {
    for (const connection of connections) connection.disconnect();
    await server.stop();
    user.remove();
  };
  try {
    await server.waitUntil(async () => (await connections[0]?.ping()) === 'PONG', READY_TIMEOUT_MS);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...writesOn(connections), pids: () => [server.pid], close };
}

function writesOn(connections: readonly Redis[]): Pick<Pair, 'without' | 'through' | 'trips'> {
  const trips = new Trips();
  for (const connection of connections) count(connection, trips);
  const next = rounds(connections.length);
  const holderOf = holders(connections.length);
  const of = (client: number): Redis => {
    const connection = connections[client];
    if (connection === undefined) throw new RangeError(`there is no client ${client}`);
    return connection;
  };
  return {
    trips,
    without: (client) => of(client).set(`{jobs-${client}}:state`, valueOf(next(client)).toString()),
    through: (client) =>
      fence(of(client), `jobs-${client}`, holderOf(client), async (tx) =>
        tx.set(`{jobs-${client}}:state`, valueOf(next(client)).toString()),
      ),
  };
}

/** Each command is one round trip, whatever its method is called. */
function count(connection: Redis, trips: Trips): void {
  const sendCommand = connection.sendCommand.bind(connection) as (...args: readonly unknown[]) => unknown;
  Object.assign(connection, {
    sendCommand: (...args: readonly unknown[]): unknown => trips.during(async () => await sendCommand(...args)),
  });
}
