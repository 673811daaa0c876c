/** Three whole servers on a simulated world, with clients of the SDK: what tests of their disks share. */

import { connect, connectOperator, type Client, type ConnectOptions, type OperatorClient } from '@holdfast/client';
import { LockServer, type LockServerOptions } from '@holdfast/lockd';
import { SimWorld } from '@holdfast/runtime/sim';

export const SERVERS = [1, 2, 3];
const ADDRESSES = SERVERS.map((id) => `s${id}:7100`);
export const RESERVE = 1024 * 1024;
/** Longer than the next check of a disk, and what it leads to. */
export const NOTICED_MS = 2_500;

export class SimulatedEnsemble {
  readonly world: SimWorld;
  readonly failures = new Map<number, unknown>();
  readonly #servers = new Map<number, LockServer>();
  readonly #options: Partial<LockServerOptions>;
  #clients = 0;

  /** `options`: beside what all such tests have. */
  constructor(seed: number, options: Partial<LockServerOptions> = {}) {
    this.#options = options;
    this.world = new SimWorld({ seed });
  }

  async start(): Promise<void> {
    for (const id of SERVERS) await this.startServer(id);
    await this.until(() => this.leader !== 0);
  }

  async startServer(id: number): Promise<void> {
    const host = this.world.host(`s${id}`);
    // It may have failed within this very moment, and its process still be on its way out.
    if (host.state === 'up' && this.failures.has(id)) host.kill();
    if (host.state === 'down') host.restart();
    const { incarnation } = host;
    const starting = LockServer.start(
      {
        id,
        clusterId: 'sim',
        clientListen: `s${id}:7100`,
        peerListen: `s${id}:7200`,
        dataDirectory: '/data',
        members: SERVERS.map((member) => ({ id: member, peerAddress: `s${member}:7200` })),
        segmentBytes: 64 * 1024,
        diskReserveBytes: RESERVE,
        ...this.#options,
      },
      host.runtime,
      {
        fatal: (error) => {
          // The process ends with it, the machine goes on.
          this.failures.set(id, error);
          this.#servers.delete(id);
          this.world.after(0, () => {
            if (host.incarnation === incarnation) host.kill();
          });
        },
      },
    );
    this.#servers.set(id, await this.world.complete(starting, { maxMs: 60_000 }));
  }

  /** The power fails. */
  stopHard(id: number): void {
    this.#servers.delete(id);
    this.world.host(`s${id}`).crash({ tear: 'random' });
  }

  server(id: number): LockServer {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`server ${id} does not run`);
    return server;
  }

  get leader(): number {
    return SERVERS.find((id) => this.#servers.get(id)?.status.role === 'leader') ?? 0;
  }

  get followers(): number[] {
    return SERVERS.filter((id) => id !== this.leader);
  }

  disk(id: number) {
    return this.world.host(`s${id}`).disk;
  }

  async setFree(bytes: number, ids: readonly number[] = SERVERS): Promise<void> {
    for (const id of ids) this.disk(id).setFreeBytes(bytes);
    await this.world.run({ untilMs: this.world.nowMs + NOTICED_MS });
  }

  connect(options: Partial<ConnectOptions> = {}): Promise<Client> {
    return this.complete(connect({ servers: ADDRESSES, ...options }, this.#clientHost().runtime));
  }

  connectOperator(
    options: { readonly stale?: boolean; readonly connectTimeoutMs?: number } = {},
  ): Promise<OperatorClient> {
    return this.complete(connectOperator({ servers: ADDRESSES, ...options }, this.#clientHost().runtime));
  }

  complete<T>(promise: Promise<T>, maxMs = 60_000): Promise<T> {
    return this.world.complete(promise, { maxMs });
  }

  #clientHost() {
    this.#clients += 1;
    return this.world.host(`c${this.#clients}`);
  }

  async until(condition: () => boolean): Promise<void> {
    await this.world.run({ until: condition, maxMs: 60_000 });
  }
}

export async function started(seed: number, options?: Partial<LockServerOptions>): Promise<SimulatedEnsemble> {
  const ensemble = new SimulatedEnsemble(seed, options);
  await ensemble.start();
  return ensemble;
}

export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
