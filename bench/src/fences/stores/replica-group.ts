/** A group of three replicas as processes, with an ensemble of three servers. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { bundledEntry } from '@holdfast/ensemble';

import { freePorts } from '../../systems/free-ports.ts';
import { holdfast } from '../../systems/holdfast.ts';
import { ServerProcess } from '../../systems/server-process.ts';
import type { RunningSystem } from '../../systems/system.ts';

export const GROUP = 'bench';
const IDS = ['r1', 'r2', 'r3'] as const;
type Id = (typeof IDS)[number];

const LIMIT_MS = 60_000;
const POLL_MS = 10;
const ASK_TIMEOUT_MS = 500;

interface Replica {
  readonly id: Id;
  readonly url: string;
  readonly process: ServerProcess;
}

export interface ReplicaGroupOptions {
  readonly sessionTimeoutMs: number;
  readonly removalMs: number;
}

export class ReplicaGroup {
  readonly ensemble: RunningSystem;
  readonly #directory: string;
  readonly #replicas: readonly Replica[];

  private constructor(ensemble: RunningSystem, directory: string, replicas: readonly Replica[]) {
    this.ensemble = ensemble;
    this.#directory = directory;
    this.#replicas = replicas;
  }

  /** Resolves when one serves and all are in sync. */
  static async start(directory: string, options: ReplicaGroupOptions): Promise<ReplicaGroup> {
    const ensemble = await holdfast().start(directory);
    try {
      await ensemble.leader();
      const replicas = await replicasOf(directory, ensemble.addresses, options);
      const group = new ReplicaGroup(ensemble, directory, replicas);
      for (const { process } of replicas) process.launch();
      await group.allInSync();
      return group;
    } catch (error) {
      await ensemble.stop();
      throw error;
    }
  }

  get urls(): readonly string[] {
    return this.#replicas.map(({ url }) => url);
  }

  pids(): readonly number[] {
    return [...this.ensemble.pids(), ...this.#replicas.map(({ process }) => process.pid)].filter((pid) => pid !== 0);
  }

  async primary(): Promise<Replica> {
    return await until('a primary', async () => {
      for (const replica of this.#replicas) {
        if (replica.process.running && (await healthOf(replica))?.serving === true) return replica;
      }
      return undefined;
    });
  }

  async allInSync(): Promise<void> {
    await until('all replicas in sync', async () => {
      for (const replica of this.#replicas) {
        const health = await healthOf(replica);
        if (health?.serving === true && health.inSync.length === IDS.length) return true;
      }
      return undefined;
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map(({ process }) => process.stop()));
    await this.ensemble.stop();
    for (const id of IDS) rmSync(join(this.#directory, id), { recursive: true, force: true });
  }
}

async function replicasOf(
  directory: string,
  servers: readonly string[],
  { sessionTimeoutMs, removalMs }: ReplicaGroupOptions,
): Promise<readonly Replica[]> {
  const secret = join(directory, 'secret');
  writeFileSync(secret, 'the secret of a measured group\n');
  const ports = await freePorts(2 * IDS.length);
  const peers = IDS.map((id, at) => `${id}=127.0.0.1:${ports[IDS.length + at]}`).join(',');
  return IDS.map((id, at) => {
    const settings = {
      '--data': join(directory, id),
      '--listen': `127.0.0.1:${ports[at]}`,
      '--ensemble': servers.join(','),
      '--replica-of': GROUP,
      '--replica-id': id,
      '--replicas': peers,
      '--secret-file': secret,
      '--initial-in-sync': IDS.join(','),
      '--session-timeout-ms': `${sessionTimeoutMs}`,
      '--removal-ms': `${removalMs}`,
      '--log-level': 'info',
    };
    const server = new ServerProcess({
      name: `replica ${id}`,
      command: process.execPath,
      args: [bundledEntry('fenced-kvd'), ...Object.entries(settings).flat()],
      directory,
      logFile: join(directory, `${id}.log`),
    });
    return { id, url: `http://127.0.0.1:${ports[at]}`, process: server };
  });
}

interface Health {
  readonly serving: boolean;
  readonly inSync: readonly string[];
}

async function healthOf({ url }: Replica): Promise<Health | undefined> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
    return (await answer.json()) as Health;
  } catch {
    return undefined;
  }
}

async function until<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`there was no sign of ${what} within ${LIMIT_MS} ms`);
    await sleep(POLL_MS);
  }
}
