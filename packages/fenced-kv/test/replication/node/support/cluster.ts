/** Replicas on simulated hosts with disks and a network, a configuration node, and a lock that goes from one to the next. */

import { SimWorld } from '@holdfast/runtime/sim';

import { openJournalEngine } from '../../../../src/engines/journal-engine.ts';
import { FencedStore } from '../../../../src/fenced-store.ts';
import {
  RULES,
  type Configuration,
  type Rules,
  type VersionedConfiguration,
} from '../../../../src/replication/core/index.ts';
import { ReplicaStore, type ReplicatedEngine } from '../../../../src/replication/durable/index.ts';
import { ReplicaNode, type ConfigurationNode } from '../../../../src/replication/node/replica-node.ts';

export const IDS = ['r1', 'r2', 'r3'] as const;
const DATA = '/data/fenced-kv';
const PORT = 7500;
const SECRET = new TextEncoder().encode('a secret of the group');
const LATENCY_MS = 3;
/** How long until a request to an ensemble fails that cannot be reached. */
const UNREACHABLE_MS = 80;
const LOCK_CHECK_MS = 100;
const SESSION_MS = 600;
const LIMITS = { removalMs: 400, maxLogEntries: 60 };

interface Serving {
  readonly store: FencedStore;
  readonly engine: ReplicatedEngine;
}

interface Member {
  node: ReplicaNode | undefined;
  serving: Serving | undefined;
  /** It cannot reach the ensemble. */
  hidden: boolean;
  /** Since when the ensemble has not heard of it. */
  silentSinceMs: number | undefined;
}

export class Cluster {
  readonly world: SimWorld;
  readonly failures: unknown[] = [];
  configuration: VersionedConfiguration = { version: 1, epoch: 0, primary: 'r1', inSync: IDS };
  /** How often somebody came to serve. */
  served = 0;
  readonly #members = new Map<string, Member>();
  readonly #draw: (bound: number) => number;
  #holder: string | undefined;
  #tokens = 0;

  readonly #rules: Rules;

  /** `broken`: a planted bug. */
  constructor(seed: number, broken: Partial<Rules> = {}) {
    this.#rules = { ...RULES, ...broken };
    this.world = new SimWorld({ seed });
    const random = this.world.random('cluster');
    this.#draw = (bound) => random.integer(bound);
    for (const id of IDS) {
      this.#members.set(id, { node: undefined, serving: undefined, hidden: false, silentSinceMs: undefined });
    }
    this.#watchLock();
  }

  async start(id: string): Promise<void> {
    const host = this.world.host(id);
    if (host.state === 'down') host.restart();
    const { runtime } = host;
    const member = this.member(id);
    const engine = await openJournalEngine(DATA, { disk: runtime.disk, rewriteMinBytes: 50_000 });
    const store = await ReplicaStore.open(engine, () => id);
    const peers = new Map(IDS.filter((each) => each !== id).map((each) => [each, `${each}:${PORT}`]));
    member.node = await ReplicaNode.open(
      { group: 'g', listen: `${id}:${PORT}`, peers, secret: SECRET, ...LIMITS, rules: this.#rules },
      {
        ...runtime,
        engine,
        store,
        configuration: this.#configurationNode(id),
        serving: (_epoch, primary) => {
          this.served += 1;
          FencedStore.open(primary).then(
            (opened) => {
              member.serving = { store: opened, engine: primary };
            },
            // It is primary no more.
            () => {},
          );
        },
        steppedDown: () => {
          member.serving = undefined;
          if (this.#holder === id) this.#holder = undefined;
        },
        cutOff: () => {
          if (this.#holder === id) this.#holder = undefined;
        },
        failed: (error) => this.failures.push(error),
      },
    );
  }

  member(id: string): Member {
    const member = this.#members.get(id);
    if (member === undefined) throw new Error(`there is no replica ${id}`);
    return member;
  }

  /** Whoever believes to be primary, and can be asked. */
  get serving(): readonly Serving[] {
    return IDS.flatMap((id) => {
      const { serving } = this.member(id);
      return serving !== undefined && this.world.host(id).state === 'up' ? [serving] : [];
    });
  }

  end(id: string, how: 'kill' | 'none' | 'all' | 'random'): void {
    const host = this.world.host(id);
    if (host.state === 'paused') host.resume();
    if (how === 'kill') host.kill();
    else host.crash({ tear: how });
    const member = this.member(id);
    member.node = undefined;
    member.serving = undefined;
    // Nobody keeps its session alive.
    const dead = `${id} before its end`;
    if (this.#holder !== id) return;
    this.#holder = dead;
    this.world.after(SESSION_MS, () => {
      if (this.#holder === dead) this.#holder = undefined;
    });
  }

  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => this.world.after(ms, resolve));
  }

  #configurationNode(id: string): ConfigurationNode {
    const { clock } = this.world.host(id).runtime;
    const answer = async (landed: () => void): Promise<VersionedConfiguration> => {
      const member = this.member(id);
      const arrives = !member.hidden || this.#draw(3) === 0;
      this.world.after(LATENCY_MS, () => arrives && landed());
      const lost = member.hidden;
      await new Promise<void>((resolve) => clock.setTimer(lost ? UNREACHABLE_MS : 2 * LATENCY_MS, resolve));
      if (lost) throw new Error('the ensemble cannot be reached');
      return this.configuration;
    };
    return {
      read: async () => await answer(() => {}),
      write: async (expectedVersion: number, configuration: Configuration) =>
        await answer(() => {
          const { version } = this.configuration;
          if (version === expectedVersion) this.configuration = { ...configuration, version: version + 1 };
        }),
    };
  }

  /** The holder loses the lock when the ensemble has not heard of it for a session's time; somebody else gets it. */
  #watchLock(): void {
    this.world.after(LOCK_CHECK_MS, () => {
      const isSilent = (id: string): boolean => this.world.host(id).state !== 'up' || this.member(id).hidden;
      for (const id of IDS) {
        const member = this.member(id);
        member.silentSinceMs = isSilent(id) ? (member.silentSinceMs ?? this.world.nowMs) : undefined;
        const silentMs = this.world.nowMs - (member.silentSinceMs ?? this.world.nowMs);
        if (this.#holder === id && silentMs > SESSION_MS) this.#holder = undefined;
      }
      const candidates = IDS.filter((id) => !isSilent(id) && this.member(id).node !== undefined);
      const candidate = candidates[this.#draw(Math.max(1, candidates.length))];
      if (this.#holder === undefined && candidate !== undefined) this.#grant(candidate);
      this.#watchLock();
    });
  }

  #grant(id: string): void {
    this.#tokens += 10;
    this.#holder = id;
    const token = this.#tokens;
    const { node } = this.member(id);
    const { configuration } = this;
    this.world.host(id).runtime.clock.setTimer(LATENCY_MS, () => node?.elected(token, configuration));
  }
}
