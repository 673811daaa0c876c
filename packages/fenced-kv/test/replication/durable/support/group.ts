/** A group of replicas on simulated hosts with disks. Messages and configuration writes take their time, and may be lost. */

import { SimWorld } from '@holdfast/runtime/sim';
import type { Disk } from '@holdfast/runtime';

import { openJournalEngine } from '../../../../src/engines/journal-engine.ts';
import type { VersionedConfiguration } from '../../../../src/replication/core/index.ts';
import { Replica, ReplicaStore, type ReplicaOptions } from '../../../../src/replication/durable/index.ts';
import type { ReplicatedEngine } from '../../../../src/replication/durable/index.ts';

const DATA = '/data/fenced-kv';
const GROUP = ['r1', 'r2', 'r3'];
const MAX_LATENCY_MS = 4;
/** How long after a message the buckets are brought up to date: a node does so now and then. */
const FLUSH_MS = 10;

interface Member {
  replica: Replica | undefined;
  engine: ReplicatedEngine | undefined;
  readonly waiting: ((engine: ReplicatedEngine) => void)[];
  /** No message gets to it or from it. */
  cut: boolean;
}

interface GroupOptions {
  readonly seed: number | string;
  readonly limits?: Pick<ReplicaOptions, 'maxLogBytes' | 'maxLogEntries'>;
  /** Plants a fault in every disk. */
  readonly change?: (disk: Disk) => Disk;
}

export class Group {
  readonly world: SimWorld;
  readonly failures: Error[] = [];
  configuration: VersionedConfiguration = { version: 1, epoch: 0, primary: 'r1', inSync: GROUP };
  readonly #options: GroupOptions;
  readonly #members = new Map<string, Member>();
  readonly #latency: () => number;
  #tokens = 0;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.world = new SimWorld({ seed: options.seed });
    const draw = this.world.random('latency');
    this.#latency = () => draw.next() * MAX_LATENCY_MS;
  }

  /** All three, with what their disks have. */
  async start(ids: readonly string[] = GROUP): Promise<void> {
    for (const id of ids) {
      const host = this.world.host(id);
      if (host.state === 'down') host.restart();
      const disk = this.#options.change?.(host.runtime.disk) ?? host.runtime.disk;
      const member: Member = { replica: undefined, engine: undefined, waiting: [], cut: false };
      const engine = await this.world.complete(openJournalEngine(DATA, { disk, rewriteMinBytes: 20_000 }));
      const store = await this.world.complete(ReplicaStore.open(engine, () => id));
      const options = {
        group: GROUP,
        minInSync: 2,
        maxAppendEntries: 8,
        maxAppendBytes: 1_000_000,
        maxInFlightEntries: 16,
        maxInFlightAppends: 2,
        ...this.#options.limits,
      };
      let flushing = false;
      const flushSoon = (): void => {
        if (flushing) return;
        flushing = true;
        this.world.after(FLUSH_MS, () => {
          flushing = false;
          member.replica?.flush();
        });
      };
      member.replica = new Replica(engine, store, options, {
        send: (to, message) => {
          flushSoon();
          if (member.cut) return;
          this.world.after(this.#latency(), () => {
            const other = this.#members.get(to);
            if (member.cut || other?.cut === true || this.world.host(to).state === 'down') return;
            other?.replica?.step({ type: 'message', from: id, message });
          });
        },
        writeConfiguration: (expectedVersion, configuration) => {
          this.world.after(this.#latency(), () => {
            const { version } = this.configuration;
            if (expectedVersion === version) this.configuration = { ...configuration, version: version + 1 };
            this.world.after(this.#latency(), () => {
              member.replica?.step({ type: 'configuration', configuration: this.configuration });
            });
          });
        },
        serving: (_epoch, primary) => {
          member.engine = primary;
          for (const resolve of member.waiting.splice(0)) resolve(primary);
        },
        steppedDown: () => {
          member.engine = undefined;
        },
        failed: (error) => this.failures.push(error),
      });
      this.#members.set(id, member);
    }
  }

  replica(id: string): Replica {
    const { replica } = this.#memberOf(id);
    if (replica === undefined) throw new Error(`${id} is down`);
    return replica;
  }

  cut(id: string, cut: boolean): void {
    this.#memberOf(id).cut = cut;
  }

  crash(id: string, tear: 'none' | 'all' | 'random' = 'random'): void {
    this.world.host(id).crash({ tear });
    const member = this.#memberOf(id);
    member.replica = undefined;
    member.engine = undefined;
  }

  /** It gets the lock. Resolves when it serves. */
  async elect(id: string): Promise<ReplicatedEngine> {
    this.#tokens += 10;
    this.replica(id).step({ type: 'elected', token: this.#tokens, configuration: this.configuration });
    return await this.engineOf(id);
  }

  /** Resolves when it serves. */
  async engineOf(id: string): Promise<ReplicatedEngine> {
    const member = this.#memberOf(id);
    return member.engine ?? (await new Promise((resolve) => member.waiting.push(resolve)));
  }

  /** The primary can reach the other again. */
  connect(primary: string, other: string): void {
    this.replica(primary).step({ type: 'connected', replica: other });
  }

  suspect(primary: string, other: string): void {
    this.replica(primary).step({ type: 'suspect', replica: other });
  }

  async until(condition: () => boolean): Promise<void> {
    await this.world.run({ until: () => condition() || this.failures.length > 0, maxMs: 60_000 });
    if (this.failures[0] !== undefined) throw this.failures[0];
  }

  #memberOf(id: string): Member {
    const member = this.#members.get(id);
    if (member === undefined) throw new Error(`${id} was not started`);
    return member;
  }
}
