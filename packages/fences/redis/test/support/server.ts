/** A Redis server of its own: Debian's package, its data in a temporary directory, on 127.0.0.1 and a free port. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

const SERVER = '/usr/bin/redis-server';
const READY_TIMEOUT_MS = 30_000;
const RETRY_MS = 20;

export interface RedisServer {
  readonly port: number;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** Ends it cleanly and starts it again. */
  restart(): Promise<void>;
  /** Kills it, and starts it on what it has left. */
  crash(): Promise<void>;
}

export function hasRedis(): boolean {
  return existsSync(SERVER);
}

/** As docs/fences-redis.md says that it must be set. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'] as const;
/** A cluster of one server: it has all slots, and refuses what a cluster refuses. */
export const CLUSTER = [...DURABLE, '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] as const;

export async function startRedis(settings: readonly string[] = DURABLE): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-redis-'));
  const port = await freePort();
  const args = ['--dir', directory, '--port', `${port}`, '--bind', '127.0.0.1', '--save', '', ...settings];
  const start = (): ChildProcess => spawn(SERVER, args, { cwd: directory, stdio: 'ignore' });
  let server = start();
  let slots = false;
  const serves = async (): Promise<void> => {
    const until = performance.now() + READY_TIMEOUT_MS;
    while (!(await answers(port, slots))) {
      if (performance.now() > until) throw new Error('Redis did not start');
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
    if (settings.includes('--cluster-enabled')) {
      await takeAllSlots(port);
      slots = true;
      await serves();
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, stop, restart: () => again('SIGTERM'), crash: () => again('SIGKILL') };
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

async function freePort(): Promise<number> {
  // A cluster has a second port, 10,000 above.
  for (;;) {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    if (port < 55_000) return port;
  }
}

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

async function end(server: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (hasEnded(server)) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  const timer = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await exited;
  clearTimeout(timer);
}
