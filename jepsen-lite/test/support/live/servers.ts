/** Real servers of a test, each with its data where the test says, and killed when it ends. */

import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { connect, type Client } from '@holdfast/client';
import { bundledEntry } from '@holdfast/ensemble';
import { Child } from './child.ts';
import { until } from './until.ts';

const LOCKD = bundledEntry('lockd');
const CLUSTER_ID = 'live';

export interface ServerStatus {
  readonly role: string;
  readonly term: number;
  readonly appliedIndex: number;
  readonly commitIndex: number;
}

export class Servers {
  readonly addresses: readonly string[];
  readonly #peers: readonly string[];
  readonly #data: readonly string[];
  readonly #environments: readonly Readonly<Record<string, string>>[];
  readonly #running = new Map<number, Child>();

  private constructor(
    ports: readonly number[],
    data: readonly string[],
    environments: readonly Readonly<Record<string, string>>[],
  ) {
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    this.addresses = addresses.slice(0, data.length);
    this.#peers = addresses.slice(data.length);
    this.#data = data;
    this.#environments = environments;
  }

  /** Started, one for each data directory; the first has the id 1. */
  static async start(
    data: readonly string[],
    environments: readonly Readonly<Record<string, string>>[] = [],
  ): Promise<Servers> {
    const servers = new Servers(await freePorts(2 * data.length), data, environments);
    await Promise.all(servers.ids.map((id) => servers.start(id)));
    return servers;
  }

  get ids(): readonly number[] {
    return this.#data.map((_, n) => n + 1);
  }

  /** Resolves when it serves; @throws when it ends instead */
  async start(id: number): Promise<void> {
    const cluster = this.#peers.map((peer, n) => `${n + 1}=${peer}`).join(',');
    const places = ['--client', this.addresses[id - 1] ?? '', '--peer', this.#peers[id - 1] ?? ''];
    const own = ['--id', `${id}`, '--cluster-id', CLUSTER_ID, '--data', this.#data[id - 1] ?? ''];
    const child = new Child([LOCKD, ...own, ...places, '--cluster', cluster], this.#environments[id - 1]);
    this.#running.set(id, child);
    await child.says(/serves clients at/);
  }

  child(id: number): Child {
    const child = this.#running.get(id);
    if (child === undefined) throw new Error(`server ${id} was not started`);
    return child;
  }

  pid(id: number): number {
    return this.child(id).pid;
  }

  async status(id: number): Promise<ServerStatus | undefined> {
    const response = await fetch(`http://${this.addresses[id - 1]}/status`).catch(() => undefined);
    return (await response?.json()) as ServerStatus | undefined;
  }

  async leader(): Promise<number> {
    let leader: number | undefined;
    await until(async () => {
      const statuses = await Promise.all(this.ids.map((id) => this.status(id)));
      leader = this.ids.find((id) => statuses[id - 1]?.role === 'leader');
      return leader !== undefined;
    }, 'a leader');
    return leader ?? 0;
  }

  connect(sessionTimeoutMs = 60_000): Promise<Client> {
    const options = { connectTimeoutMs: 20_000, closeTimeoutMs: 1_000, sessionTimeoutMs };
    return connect({ servers: this.addresses, clusterId: CLUSTER_ID, ...options });
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#running.values()].map((child) => child.kill()));
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
