/** A PostgreSQL server of its own: Debian's package, a cluster in a temporary directory, on 127.0.0.1 and a free port. */

import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PACKAGES = '/usr/lib/postgresql';
const READY_TIMEOUT_MS = 30_000;
const RETRY_MS = 50;

export interface Postgres {
  readonly url: string;
  readonly port: number;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** Ends it cleanly, with its connections, and starts it again. */
  restart(): Promise<void>;
  /** Kills it, and starts it on what it has left. */
  crash(): Promise<void>;
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
  // What the system has written is kept when a process is killed; a power loss is no part of these tests.
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${directory}`, 'fsync=off'];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const start = (): ChildProcess => spawn(join(bin, 'postgres'), args, { ...options, stdio: 'ignore' });
  let server = start();
  const serves = async (): Promise<void> => {
    const until = performance.now() + READY_TIMEOUT_MS;
    while (!(await answers(bin, url))) {
      if (performance.now() > until) throw new Error('PostgreSQL did not start');
      // Processes of one that was killed may be there for a moment.
      if (hasEnded(server)) server = start();
      await new Promise<void>((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  };
  const again = async (signal: 'SIGINT' | 'SIGKILL'): Promise<void> => {
    await end(server, signal);
    server = start();
    await serves();
  };
  const stop = async (): Promise<void> => {
    await end(server, 'SIGINT');
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await serves();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, port, stop, restart: () => again('SIGINT'), crash: () => again('SIGKILL') };
}

/** By psql: a process of its own. */
export async function query(bin: string, url: string, text: string): Promise<void> {
  await run(join(bin, 'psql'), [url, '-v', 'ON_ERROR_STOP=1', '-c', text]);
}

async function answers(bin: string, url: string): Promise<boolean> {
  return await query(bin, url, 'SELECT 1').then(
    () => true,
    () => false,
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

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

/** SIGINT ends its connections and lets it write what it has. */
async function end(server: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  if (hasEnded(server)) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  const timer = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await exited;
  clearTimeout(timer);
}
