/** A Redis server, by Debian's package. */

import { existsSync } from 'node:fs';

import { freePort } from './free-port.ts';
import type { PreparedServer } from './prepared-server.ts';
import { ServerUser } from './server-user.ts';

const SERVER = '/usr/bin/redis-server';

export function hasRedis(): boolean {
  return existsSync(SERVER);
}

/** @param settings as `'--appendonly', 'yes'`; without them nothing is kept when it ends */
export async function prepareRedis(settings: readonly string[] = []): Promise<PreparedServer> {
  const user = new ServerUser();
  const port = await freePort();
  const args = ['--dir', user.directory, '--port', `${port}`, '--bind', '127.0.0.1', '--save', '', ...settings];
  return { command: SERVER, args, port, user };
}
