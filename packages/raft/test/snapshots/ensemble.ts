/** Three replicas with logs on simulated disks, whose machine is a list of texts that its snapshots hold. */

import type { Logger } from '@holdfast/runtime';
import { SimWorld, type SimHost } from '@holdfast/runtime/sim';
import { EntryType, serverId, type Entry, type LogIndex, type RaftConfig } from '../../src/core/index.ts';
import type { LogStore } from '../../src/log-store/contract/log-store.ts';
import { openWriteAheadLog } from '../../src/log-store/wal/write-ahead-log.ts';
import type { MachineSnapshot, ReplicaMachine, RestoredState, SnapshotBytes } from '../../src/machine.ts';
import type { ReplicaObserver } from '../../src/observer.ts';
import { Replica } from '../../src/driver/replica.ts';
import type { SnapshotOptions } from '../../src/snapshots/snapshot-options.ts';

/** Its state is the list of commands; a snapshot is a copy of it, with the index to check, and in bytes of its server's own. */
class ListMachine implements ReplicaMachine {
  readonly #server: number;
  commands: string[] = [];
  appliedIndex = 0;
  restores: number[] = [];
  snapshotsBegun = 0;
  snapshotsCancelled = 0;
  /** Called when all of a snapshot was read; its state is built when this has resolved. */
  building: () => Promise<void> = async () => {};
  /** Finds no snapshot sound. */
  refuses = false;
  error: unknown;

  constructor(server: number) {
    this.#server = server;
  }

  apply(entry: Entry): void {
    if (entry.index !== this.appliedIndex + 1) throw new Error(`${entry.index} is applied after ${this.appliedIndex}`);
    this.appliedIndex = entry.index;
    if (entry.type === EntryType.command) this.commands.push(new TextDecoder().decode(entry.data));
  }

  beginSnapshot(): MachineSnapshot {
    this.snapshotsBegun += 1;
    const bytes = new TextEncoder().encode(
      JSON.stringify({ by: this.#server, index: this.appliedIndex, commands: this.commands }),
    );
    let at = 0;
    return {
      next: (maxBytes) => {
        const slice = bytes.slice(at, at + maxBytes);
        at += slice.length;
        return slice.length === 0 ? undefined : slice;
      },
      cancel: () => {
        this.snapshotsCancelled += 1;
      },
    };
  }

  async restore(index: LogIndex, bytes: SnapshotBytes): Promise<RestoredState> {
    const parts: Uint8Array[] = [];
    for await (const part of bytes) parts.push(Uint8Array.from(part));
    const state = JSON.parse(Buffer.concat(parts).toString()) as { index: number; commands: string[] };
    await this.building();
    if (this.refuses) throw new Error('it has a record of an unknown type');
    if (state.index !== index) throw new Error(`the state of ${state.index} is restored as that of ${index}`);
    return {
      adopt: () => {
        this.appliedIndex = index;
        this.commands = state.commands;
        this.restores.push(index);
      },
    };
  }

  flush(): void {}
  statusChanged(): void {}
  proposalRejected(): void {}
  peerMessage(): void {}
  peerDisconnected(): void {}
  peersChanged(): void {}

  removed(): void {
    throw new Error('no server of this ensemble is removed');
  }

  fatal(error: unknown): void {
    this.error = error;
  }
}

export interface EnsembleOptions {
  readonly snapshots: Partial<SnapshotOptions>;
  /** @default 4096 */
  readonly segmentBytes?: number;
  readonly tuning?: Partial<Omit<RaftConfig, 'id' | 'initial'>>;
  /** Of all servers. @default the logger that says nothing */
  readonly logger?: Logger;
  /** @default nobody */
  observerOf?(id: number): Partial<ReplicaObserver>;
}

export class Server {
  readonly id: number;
  readonly host: SimHost;
  machine: ListMachine;
  replica: Replica | undefined;
  store: LogStore | undefined;
  readonly #options: EnsembleOptions;

  constructor(id: number, host: SimHost, options: EnsembleOptions) {
    this.id = id;
    this.host = host;
    this.machine = new ListMachine(id);
    this.#options = options;
  }

  get running(): Replica {
    if (this.replica === undefined) throw new Error(`server ${this.id} is down`);
    return this.replica;
  }

  get log(): LogStore {
    if (this.store === undefined) throw new Error(`server ${this.id} is down`);
    return this.store;
  }

  async start(): Promise<void> {
    const { disk, logger, clock, network, random } = this.host.runtime;
    const identity = { clusterId: 'test', serverId: serverId(this.id), incarnation: `disk-${this.id}` };
    this.store = await openWriteAheadLog(
      { ...identity, directory: '/log', segmentBytes: this.#options.segmentBytes ?? 4096, snapshotChunkBytes: 500 },
      { disk, logger },
    );
    this.machine = new ListMachine(this.id);
    const replica = new Replica(
      {
        id: serverId(this.id),
        clusterId: 'test',
        incarnation: identity.incarnation,
        members: [1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `server-${id}:7000` })),
        peerListen: `server-${this.id}:7000`,
        clientAddress: `server-${this.id}:8000`,
        tuning: { tailBytes: 1_000, ...this.#options.tuning },
        snapshots: this.#options.snapshots,
      },
      this.store,
      this.machine,
      { clock, network, random, logger, observer: this.#options.observerOf?.(this.id) },
    );
    await replica.start();
    this.replica = replica;
  }

  crash(): void {
    this.host.crash({ tear: 'random' });
    this.replica = undefined;
    this.store = undefined;
  }

  restart(): Promise<void> {
    this.host.restart();
    return this.start();
  }
}

export class Ensemble {
  readonly world: SimWorld;
  readonly servers: readonly Server[];
  #proposed = 0;

  constructor(seed: number, snapshots: Partial<SnapshotOptions>, more: Omit<EnsembleOptions, 'snapshots'> = {}) {
    const options = { ...more, snapshots };
    this.world = new SimWorld({ seed, ...(more.logger === undefined ? {} : { logger: more.logger }) });
    this.servers = [1, 2, 3].map((id) => new Server(id, this.world.host(`server-${id}`), options));
  }

  get leader(): Server {
    const leader = this.servers.find(({ replica }) => replica?.status.role === 'leader' && replica.status.ready);
    if (leader === undefined) throw new Error('nobody leads');
    return leader;
  }

  others(server: Server): Server[] {
    return this.servers.filter((other) => other !== server);
  }

  async start(): Promise<void> {
    await this.world.complete(Promise.all(this.servers.map((server) => server.start())));
    await this.until(() => this.servers.some(({ replica }) => replica?.status.ready === true));
  }

  restart(server: Server): Promise<void> {
    return this.world.complete(server.restart());
  }

  async until(condition: () => boolean, maxMs = 60_000): Promise<void> {
    await this.world.run({ maxMs, until: condition });
    if (!condition()) throw new Error('it did not come about in time');
  }

  /** Has so many commands of 100 bytes committed and applied by every server that runs. */
  async run(commands: number): Promise<void> {
    for (let count = 0; count < commands; count += 1) {
      this.#proposed += 1;
      this.leader.running.propose(new TextEncoder().encode(`command ${this.#proposed} `.padEnd(100, '.')));
      if (count % 5 === 4) await this.agreed();
    }
    await this.agreed();
  }

  /** All running servers have applied everything that was proposed. */
  async agreed(): Promise<void> {
    const running = this.servers.filter(({ replica }) => replica !== undefined);
    await this.until(() => running.every(({ machine }) => machine.commands.length === this.#proposed));
  }

  checkHealth(): void {
    for (const { id, machine } of this.servers) {
      if (machine.error !== undefined) throw new Error(`server ${id} failed`, { cause: machine.error });
    }
  }
}
