/** Three servers as shipped, but for a probe inside and a young generation that holds everything a measurement allocates. */

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { programEntry } from '@holdfast/ensemble';

import { askHttp } from '../systems/ask.ts';
import { freePorts } from '../systems/free-ports.ts';
import { ServerProcess } from '../systems/server-process.ts';
import { PROBE_DIRECTORY_VARIABLE, type AllocationLook } from './allocation-probe.ts';

const SERVERS = 3;
/** More than any load here allocates. */
const YOUNG_GENERATION_MB = 512;
const READY_TIMEOUT_MS = 30_000;
const LOOK_TIMEOUT_MS = 5_000;

export interface CountedServer {
  readonly address: string;
  readonly pid: number;
}

export class CountedEnsemble {
  readonly #directory: string;
  readonly #addresses: readonly string[];
  readonly #processes: readonly ServerProcess[];
  readonly #looks = new Map<number, number>();

  private constructor(directory: string, addresses: readonly string[], processes: readonly ServerProcess[]) {
    this.#directory = directory;
    this.#addresses = addresses;
    this.#processes = processes;
  }

  static async start(directory: string): Promise<CountedEnsemble> {
    mkdirSync(directory, { recursive: true });
    process.env[PROBE_DIRECTORY_VARIABLE] = directory;
    const ports = await freePorts(2 * SERVERS);
    const addresses = ports.slice(0, SERVERS).map((port) => `127.0.0.1:${port}`);
    const peers = ports.slice(SERVERS).map((port) => `127.0.0.1:${port}`);
    const cluster = peers.map((peer, n) => `${n + 1}=${peer}`).join(',');
    const processes = addresses.map((address, n) => {
      const options = {
        id: `${n + 1}`,
        'cluster-id': 'count',
        client: address,
        peer: peers[n] ?? '',
        data: join(directory, `server-${n + 1}`),
        cluster,
      };
      return new ServerProcess({
        name: `lockd ${n + 1}`,
        command: process.execPath,
        args: [...nodeFlags(), programEntry('lockd'), ...Object.entries(options).flatMap(([k, v]) => [`--${k}`, v])],
        directory,
        logFile: join(directory, `server-${n + 1}.log`),
      });
    });
    const ensemble = new CountedEnsemble(directory, addresses, processes);
    for (const server of processes) server.launch();
    const ready = async (address: string): Promise<boolean> => (await askHttp(`http://${address}/ready`)) !== undefined;
    await Promise.all(
      processes.map((server, n) => server.waitUntil(() => ready(addresses[n] ?? ''), READY_TIMEOUT_MS)),
    );
    return ensemble;
  }

  /** The leader first. */
  async servers(): Promise<CountedServer[]> {
    const servers = this.#addresses.map((address, n) => ({ address, pid: this.#processes[n]?.pid ?? 0 }));
    for (const [n, { address }] of servers.entries()) {
      const status = await askHttp(`http://${address}/status`);
      if (status !== undefined && (JSON.parse(status) as { role: string }).role === 'leader') {
        return [...servers.slice(n), ...servers.slice(0, n)];
      }
    }
    throw new Error('the counted ensemble has no leader');
  }

  async allocated({ pid }: CountedServer): Promise<AllocationLook> {
    const look = (this.#looks.get(pid) ?? 0) + 1;
    this.#looks.set(pid, look);
    process.kill(pid, 'SIGUSR2');
    const deadline = performance.now() + LOOK_TIMEOUT_MS;
    while (performance.now() < deadline) {
      const found = this.#readLook(pid);
      if (found?.look === look) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`process ${pid} did not say what it has allocated`);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((server) => server.stop()));
  }

  #readLook(pid: number): AllocationLook | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#directory, `${pid}.json`), 'utf8')) as AllocationLook;
    } catch {
      return undefined;
    }
  }
}

function nodeFlags(): string[] {
  const probe = fileURLToPath(new URL('allocation-probe.js', import.meta.url));
  return [
    `--min-semi-space-size=${YOUNG_GENERATION_MB}`,
    `--max-semi-space-size=${YOUNG_GENERATION_MB}`,
    '--import',
    probe,
  ];
}
