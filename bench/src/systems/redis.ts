/** One Redis server that syncs its log before it answers: no replication, no fail-over; the line that people compare with. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { askTcp } from './ask.ts';
import { freePorts } from './free-ports.ts';
import { ServerEnsemble } from './server-ensemble.ts';
import { ServerProcess } from './server-process.ts';
import type { RunningSystem, SystemUnderTest } from './system.ts';

export function redis(version: string): SystemUnderTest {
  return { name: 'redis', version, settings: 'one server, appendonly yes, appendfsync always, no snapshots', start };
}

async function start(directory: string): Promise<RunningSystem> {
  const [port] = await freePorts(1);
  const data = join(directory, 'server-1');
  mkdirSync(data, { recursive: true });
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', data];
  const process = new ServerProcess({
    name: 'redis',
    command: 'redis-server',
    args: [...args, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
    directory,
    logFile: join(directory, 'server-1.log'),
  });
  return await ServerEnsemble.start({
    name: 'redis',
    addresses: [`127.0.0.1:${port}`],
    processes: [process],
    serves: async (address) => ((await askTcp(address, 'PING\r\nQUIT\r\n')) ?? '').startsWith('+PONG'),
    leads: () => Promise.resolve(true),
    progress: () => Promise.resolve({ commitIndex: null, durableWrites: null }),
  });
}
