/** A PostgreSQL server of its own: Debian's package, a cluster in a temporary directory, on 127.0.0.1 and a free port. */

import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { waitUntil } from '@holdfast/ensemble';

const run = promisify(execFile);
const PACKAGES = '/usr/lib/postgresql';
const READY_TIMEOUT_MS = 30_000;

export interface Postgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** Where its programs are, or undefined. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES).toSorted((x, y) => Number(y) - Number(x)) : [];
  return versions.map((version) => join(PACKAGES, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

export async function startPostgres(bin: string): Promise<Postgres> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'));
  const owner = serverUser();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(directory, owner.uid, owner.gid);
  const data = join(directory, 'data');
  const options = { ...owner, cwd: directory };
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-N'], { ...options, stdio: 'pipe' });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${directory}`, 'fsync=off'];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(join(bin, 'postgres'), args, { ...options, stdio: 'ignore' });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const stop = async (): Promise<void> => {
    await end(server);
    rmSync(directory, { recursive: true, force: true });
  };
  const ready = await waitUntil(
    async () => (server.exitCode === null ? await answers(bin, url) : false),
    READY_TIMEOUT_MS,
  );
  if (ready === true) return { url, stop };
  await stop();
  throw new Error('PostgreSQL did not start');
}

/** By psql, since the library pg cannot be loaded under the conditions under which tests import our sources. */
export async function query(bin: string, url: string, text: string): Promise<void> {
  await run(join(bin, 'psql'), [url, '-v', 'ON_ERROR_STOP=1', '-c', text]);
}

async function answers(bin: string, url: string): Promise<true | undefined> {
  return await query(bin, url, 'SELECT 1').then(
    () => true as const,
    () => undefined,
  );
}

/** The server refuses to run as root. */
function serverUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** SIGINT ends its connections and lets it write what it has. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGINT');
  const timer = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await exited;
  clearTimeout(timer);
}
