/** A MariaDB server of its own: Debian's package, its data in a temporary directory, on 127.0.0.1 and a free port. */

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';

const SERVER = '/usr/sbin/mariadbd';
const INSTALL = '/usr/bin/mariadb-install-db';
const READY_TIMEOUT_MS = 30_000;
const RETRY_MS = 50;

export interface MariaDb {
  readonly port: number;
  /** Of the user that may do everything, on a database. */
  config(database?: string): mysql.PoolOptions;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** Ends it cleanly, with its connections, and starts it again. */
  restart(): Promise<void>;
  /** Kills it, and starts it on what it has left. */
  crash(): Promise<void>;
}

export function hasMariaDb(): boolean {
  return existsSync(SERVER) && existsSync(INSTALL);
}

export async function startMariaDb(): Promise<MariaDb> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-mariadb-'));
  const owner = serverUser();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(directory, owner.uid, owner.gid);
  const data = join(directory, 'data');
  const options = { ...owner, cwd: directory };
  const install = ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db'];
  execFileSync(INSTALL, install, { ...options, stdio: 'pipe' });
  const port = await freePort();
  // What the system has written is kept when a process is killed; a power loss is no part of these tests.
  const settings = ['innodb-flush-log-at-trx-commit=2', 'innodb-buffer-pool-size=32M', 'performance-schema=OFF'];
  const place = [`datadir=${data}`, `port=${port}`, `socket=${join(directory, 'socket')}`, 'bind-address=127.0.0.1'];
  const args = ['--no-defaults', ...[...place, ...settings].map((setting) => `--${setting}`)];
  const config = (database?: string): mysql.PoolOptions => ({
    host: '127.0.0.1',
    port,
    user: 'root',
    ...(database !== undefined && { database }),
  });
  const start = (): ChildProcess => spawn(SERVER, args, { ...options, stdio: 'ignore' });
  let server = start();
  const serves = async (): Promise<void> => {
    const until = performance.now() + READY_TIMEOUT_MS;
    while (!(await answers(config()))) {
      if (performance.now() > until) throw new Error('MariaDB did not start');
      if (hasEnded(server)) server = start();
      await new Promise<void>((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  };
  const again = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await end(server, signal);
    server = start();
    await serves();
  };
  const stop = async (): Promise<void> => {
    await end(server, 'SIGTERM');
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await serves();
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, config, stop, restart: () => again('SIGTERM'), crash: () => again('SIGKILL') };
}

async function answers(config: mysql.PoolOptions): Promise<boolean> {
  try {
    const connection = await mysql.createConnection(config);
    await connection.end();
    return true;
  } catch {
    return false;
  }
}

/** The server refuses to run as root. */
function serverUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'mysql'], { encoding: 'utf8' }));
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

/** SIGTERM ends its connections and lets it write what it has. */
async function end(server: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (hasEnded(server)) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  const timer = setTimeout(() => server.kill('SIGKILL'), 20_000);
  await exited;
  clearTimeout(timer);
}
