/** A MariaDB server, by Debian's package. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from './free-port.ts';
import type { PreparedServer } from './prepared-server.ts';
import { ServerUser } from './server-user.ts';

const SERVER = '/usr/sbin/mariadbd';
const INSTALL = '/usr/bin/mariadb-install-db';

export function hasMariaDb(): boolean {
  return existsSync(SERVER) && existsSync(INSTALL);
}

/**
 * Its user `root` may do everything, and needs no password.
 *
 * @param settings as `performance-schema=OFF`; others are MariaDB's own, whatever the machine's configuration says
 */
export async function prepareMariaDb(settings: readonly string[] = []): Promise<PreparedServer> {
  const user = new ServerUser('mysql');
  const data = join(user.directory, 'data');
  const install = ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db'];
  user.run(INSTALL, install);
  const port = await freePort();
  const place = [
    `datadir=${data}`,
    `port=${port}`,
    `socket=${join(user.directory, 'socket')}`,
    'bind-address=127.0.0.1',
  ];
  const args = ['--no-defaults', ...[...place, ...settings].map((setting) => `--${setting}`)];
  return { command: SERVER, args, port, user };
}
