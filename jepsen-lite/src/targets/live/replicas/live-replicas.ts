/**
 * The replicas of a live run: how each is started, which one serves, whether all have everything, and what each has in the end. The harness
 * asks them as a monitoring system does, past all faults of the network.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLmdbEngine } from '@holdfast/fenced-kv';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import type { HistoryEventBody } from '../../../history/history.ts';
import { replicaHosts, type Plan } from '../../../plan/plan.ts';
import { keptBy } from '../../kept.ts';
import type { Machine, Running } from '../processes/machine.ts';
import { dataDirectory, launchReplica, STORE_PORT, type ProgramOptions } from '../processes/programs.ts';
import { healthOf, type ReplicaHealth } from './replica-health.ts';

const EVERY_MS = 250;
const SECRET_BYTES = 32;

export interface LiveReplicasOptions {
  readonly plan: Pick<Plan, 'replicas'>;
  readonly programs: ProgramOptions;
  /** Where servers of the ensemble may be found now. */
  readonly servers: () => readonly string[];
  readonly machine: (host: string, launch: () => Running, serves: () => Promise<boolean>) => Machine;
}

export class LiveReplicas {
  readonly machines: readonly Machine[];
  /** Where clients find each, by host. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly #programs: ProgramOptions;
  readonly #latest = new Map<string, ReplicaHealth>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ plan, programs, servers, machine }: LiveReplicasOptions) {
    const { network, directory } = programs;
    const hosts = replicaHosts(plan);
    const secretFile = join(directory, 'secret');
    this.#programs = programs;
    this.addresses = new Map(hosts.map((host) => [host, network.address(host, STORE_PORT)]));
    this.machines = hosts.map((host) => {
      const launch = (): Running => launchReplica(host, { secretFile, servers: servers() }, programs);
      return machine(host, launch, async () => (await healthOf(this.#addressOf(host))) !== undefined);
    });
    if (hosts.length === 0) return;
    mkdirSync(directory, { recursive: true });
    writeFileSync(secretFile, randomBytes(SECRET_BYTES).toString('hex'), { mode: 0o600 });
  }

  /** Begins to ask. */
  watch(): void {
    if (this.machines.length === 0) return;
    this.#timer = setInterval(() => {
      for (const { host } of this.machines) void this.#ask(host);
    }, EVERY_MS);
  }

  stopWatching(): void {
    clearInterval(this.#timer);
  }

  /** The replica of the highest epoch that said lately that it serves. */
  get primary(): string | undefined {
    const serving = [...this.#latest].filter(([, health]) => health.serving);
    return serving.toSorted(([, a], [, b]) => b.epoch - a.epoch)[0]?.[0];
  }

  /** One serves, all are in sync, and each has all of the log; without replicas, too. */
  get agree(): boolean {
    const said = this.machines.flatMap(({ host }) => this.#latest.get(host) ?? []);
    const primary = said.find(({ serving }) => serving);
    if (this.machines.length === 0) return true;
    if (primary === undefined || said.length < this.machines.length) return false;
    const { epoch, inSync, lastIndex } = primary;
    if (inSync.length < this.machines.length) return false;
    return said.every((each) => each.epoch === epoch && each.lastIndex === lastIndex);
  }

  describe(): string[] {
    return this.machines.map(({ host, up, paused }) => {
      const what = paused ? 'paused' : up ? 'up' : 'down';
      const health = this.#latest.get(host);
      if (health === undefined) return `${host} ${what}`;
      const { serving, epoch, lastIndex, inSync } = health;
      return `${host} ${what}, ${serving ? 'serves' : 'follows'} epoch ${epoch}, log to ${lastIndex}, in sync ${inSync.join(' ')}`;
    });
  }

  /** Of stopped replicas: what each has on its disk, by host. Rejects with EngineError, and with RefusedError for one that has a part only. */
  async kept(): Promise<ReadonlyMap<string, readonly HistoryEventBody[]>> {
    const kept = new Map<string, readonly HistoryEventBody[]>();
    const { disk } = nodeRuntime({ logger: silentLogger });
    for (const { host } of this.machines) {
      const engine = await openLmdbEngine(dataDirectory(this.#programs, host), { disk });
      try {
        kept.set(host, await keptBy(engine));
      } finally {
        await engine.close();
      }
    }
    return kept;
  }

  #addressOf(host: string): string {
    return this.addresses.get(host) ?? '';
  }

  async #ask(host: string): Promise<void> {
    const health = await healthOf(this.#addressOf(host));
    if (health === undefined) this.#latest.delete(host);
    else this.#latest.set(host, health);
  }
}
