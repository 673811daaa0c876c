/** A PostgreSQL server of its own: Debian's package, a cluster in a temporary directory, on 127.0.0.1 and a free port. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresPrograms, preparePostgres, runServer, type RunningServer } from '@holdfast/database-servers';

export { postgresPrograms };

const run = promisify(execFile);

export interface Postgres extends RunningServer {
  readonly url: string;
}

/** @param bin where its programs are */
export async function startPostgres(bin: string): Promise<Postgres> {
  // What the system has written is kept when a process is killed; a power loss is no part of these tests.
  const prepared = await preparePostgres(bin, ['fsync=off']);
  const url = `postgres://postgres@127.0.0.1:${prepared.port}/postgres`;
  const serves = (): Promise<boolean> =>
    query(bin, url, 'SELECT 1').then(
      () => true,
      () => false,
    );
  // SIGTERM would wait for its connections.
  const server = await runServer(prepared, { name: 'PostgreSQL', stopSignal: 'SIGINT', serves });
  return { ...server, url };
}

/** By psql: a process of its own. */
export async function query(bin: string, url: string, text: string): Promise<void> {
  await run(join(bin, 'psql'), [url, '-v', 'ON_ERROR_STOP=1', '-c', text]);
}
