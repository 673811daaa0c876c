/** A cluster of PostgreSQL, by the newest of Debian's packages that is installed. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from './free-port.ts';
import type { PreparedServer } from './prepared-server.ts';
import { ServerUser } from './server-user.ts';

const PACKAGES = '/usr/lib/postgresql';

/** Where its programs are, or undefined where none is installed. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES).toSorted((x, y) => Number(y) - Number(x)) : [];
  return versions.map((version) => join(PACKAGES, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

/**
 * Its user `postgres` may do everything, and needs no password.
 *
 * @param bin of {@link postgresPrograms}
 * @param settings as `fsync=off`; others are as the package has them
 *
 * @example
 * const { port, command, args, user } = await preparePostgres(bin);
 * `postgres://postgres@127.0.0.1:${port}/postgres`;
 */
export async function preparePostgres(bin: string, settings: readonly string[] = []): Promise<PreparedServer> {
  const user = new ServerUser('postgres');
  const data = join(user.directory, 'data');
  user.run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-N']);
  const port = await freePort();
  const place = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${user.directory}`];
  const args = ['-D', data, ...[...place, ...settings].flatMap((setting) => ['-c', setting])];
  return { command: join(bin, 'postgres'), args, port, user };
}
