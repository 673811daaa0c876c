/** Whole servers on a simulated world: real log, real elections, virtual time. */

import { serverId, type Entry } from '@holdfast/raft';
import { SimWorld, type CrashOptions } from '@holdfast/runtime/sim';
import { LockServer, type LockServerOptions } from '../../src/server.ts';
import type { ServerObserver } from '../../src/machine/server-observer.ts';
import { SimClient } from './sim-client.ts';

const CLUSTER_ID = 'sim';

export class SimEnsemble {
  readonly world: SimWorld;
  readonly ids: readonly number[];
  readonly failures: unknown[] = [];
  readonly #servers = new Map<number, LockServer>();
  readonly #applied: (id: number, entry: Entry, digest: number) => void;
  readonly #options: Partial<LockServerOptions>;
  #clients = 0;
  /** Sees a server from its next start on. */
  readonly observers = new Map<number, Partial<ServerObserver>>();

  /** `applied` hears of every entry that a server applies, and the digest of its state then. */
  constructor(
    seed: number,
    count = 3,
    applied: (id: number, entry: Entry, digest: number) => void = () => {},
    options: Partial<LockServerOptions> = {},
  ) {
    this.#applied = applied;
    this.#options = options;
    this.world = new SimWorld({ seed });
    this.ids = Array.from({ length: count }, (_, n) => n + 1);
  }

  static hostOf(id: number): string {
    return `s${id}`;
  }

  /** Starts every server that is not running and waits for a leader that is ready. */
  async start(): Promise<void> {
    for (const id of this.ids) if (!this.#servers.has(id)) await this.startServer(id);
    await this.until(() => this.leader !== 0);
  }

  async startServer(id: number): Promise<void> {
    const host = this.world.host(SimEnsemble.hostOf(id));
    if (host.state === 'down') host.restart();
    const starting = LockServer.start(
      {
        id,
        clusterId: CLUSTER_ID,
        clientListen: `${SimEnsemble.hostOf(id)}:7100`,
        peerListen: `${SimEnsemble.hostOf(id)}:7200`,
        dataDirectory: '/data',
        members: this.ids.map((member) => ({
          id: serverId(member),
          peerAddress: `${SimEnsemble.hostOf(member)}:7200`,
        })),
        segmentBytes: 64 * 1024,
        ...this.#options,
      },
      host.runtime,
      { fatal: (error) => this.failures.push(error), observer: this.#observer(id) },
    );
    this.#servers.set(id, await this.world.complete(starting, { maxMs: 60_000 }));
  }

  #observer(id: number): Partial<ServerObserver> {
    const also = this.observers.get(id);
    return {
      stepping: (events, nowMs) => also?.stepping?.(events, nowMs),
      stepped: (effects, status) => also?.stepped?.(effects, status),
      applied: (entry, _outputs, state) => this.#applied(id, entry, state.digest),
    };
  }

  server(id: number): LockServer {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`server ${id} does not run`);
    return server;
  }

  /** The one that leads in the highest term and is in touch with a majority as far as it knows; 0 for none. */
  get leader(): number {
    const leading = [...this.#servers.values()].map((server) => server.status).filter(({ role }) => role === 'leader');
    return leading.toSorted((a, b) => b.term - a.term)[0]?.id ?? 0;
  }

  crash(id: number, options: CrashOptions = {}): void {
    this.#servers.delete(id);
    this.world.host(SimEnsemble.hostOf(id)).crash(options);
  }

  isolate(id: number): void {
    for (const other of this.ids) {
      if (other === id) continue;
      this.world.network.cut(SimEnsemble.hostOf(id), SimEnsemble.hostOf(other));
      this.world.network.cut(SimEnsemble.hostOf(other), SimEnsemble.hostOf(id));
    }
  }

  heal(id: number): void {
    for (const other of this.ids) {
      if (other === id) continue;
      this.world.network.heal(SimEnsemble.hostOf(id), SimEnsemble.hostOf(other));
      this.world.network.heal(SimEnsemble.hostOf(other), SimEnsemble.hostOf(id));
    }
  }

  /** A client with a session of its own on a host of its own; it goes through `servers` in turn. */
  client(servers: readonly number[] = this.ids, sessionTimeoutMs = 10_000): SimClient {
    this.#clients += 1;
    const addresses = servers.map((id) => `${SimEnsemble.hostOf(id)}:7100`);
    const { runtime } = this.world.host(`c${this.#clients}`);
    return new SimClient({ addresses, clusterId: CLUSTER_ID, sessionTimeoutMs }, runtime);
  }

  async until(condition: () => boolean, maxMs = 30_000): Promise<void> {
    await this.world.run({ until: condition, maxMs });
  }

  /** Lets this much time pass. */
  async pass(ms: number): Promise<void> {
    await this.world.run({ untilMs: this.world.nowMs + ms });
  }

  complete<T>(promise: Promise<T>, maxMs = 30_000): Promise<T> {
    return this.world.complete(promise, { maxMs });
  }
}
