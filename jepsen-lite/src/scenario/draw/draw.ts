/**
 * Draws a scenario from a seed. Each seed gets its own mixture: some kinds of faults, at its own rate, on its own machines and links.
 * Faults are placed so that a majority can always recover: any number of machines may lose power at once, since what is durable comes
 * back, but at most a minority loses its log for good.
 */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';
import type { Random } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { between, oneOf } from './choices.ts';
import { drawLateAnswersScenario, drawLeaseScenario } from './leases.ts';
import { withBursts } from './bursts.ts';
import { withCornerCases } from './corner-cases.ts';
import { withMembers } from './members.ts';
import { withOutage } from './outages.ts';
import { withSteadyReads } from './steady-reads.ts';
import { withStrangers } from './strangers.ts';
import {
  holderOf,
  LEADER,
  lockName,
  STORE_HOST,
  serverHost,
  serverIds,
  type ClientPlan,
  type Fault,
  type FaultKind,
  type Scenario,
  type SnapshotTuning,
  type Tuning,
} from '../scenario.ts';

export interface DrawOptions {
  /** Of the fault phase. @default drawn, from 10,000 to 60,000 */
  readonly durationMs?: number;
}

/** A world costs as much to make as half a second in it. */
const MAX_DURATION_MS = 60_000;

/** Faults begin when the first leader has had time to be elected. */
const FIRST_FAULT_MS = 1_000;

export function drawScenario(seed: number, options: DrawOptions = {}): Scenario {
  const world = new SimWorld({ seed });
  const snapshots = drawSnapshots(world.random('scenario of snapshots'));
  const run = withMembers({ ...drawRun(seed, world, options), snapshots }, world.random('scenario of members'));
  const strange = withStrangers(run, world.random('scenario of strangers'));
  return withCornerCases(strange, world.random('scenario of corner cases'));
}

function drawRun(seed: number, world: SimWorld, options: DrawOptions): Scenario {
  const late = world.random('scenario of late answers');
  if (late.integer(12) === 0) {
    return drawLateAnswersScenario(seed, late, options.durationMs ?? between(late, 20_000, MAX_DURATION_MS));
  }
  const leases = world.random('scenario of leases');
  if (leases.integer(5) === 0) {
    return drawLeaseScenario(seed, leases, options.durationMs ?? between(leases, 10_000, MAX_DURATION_MS));
  }
  const random = world.random('scenario');
  const servers = oneOf(random, [3, 3, 3, 3, 3, 5] as const);
  // Some seeds are one long quarrel over leadership: short time-outs, and a fault as soon as somebody leads.
  const quarrel = random.integer(8) === 0;
  const clients = drawClients(random);
  const durationMs = options.durationMs ?? between(random, 10_000, MAX_DURATION_MS);
  const scenario = {
    version: 1,
    seed,
    servers,
    clients,
    locks: between(random, 1, 5),
    tuning: drawTuning(random, quarrel),
    network: oneOf(random, [
      { minMs: 0.1, maxMs: 1 },
      { minMs: 0.2, maxMs: 5 },
      { minMs: 1, maxMs: 30 },
      { minMs: 0.5, meanMs: 8, maxMs: 200 },
    ]),
    disk: oneOf(random, [
      { minMs: 0.05, maxMs: 1 },
      { minMs: 0.1, maxMs: 5 },
      { minMs: 1, maxMs: 40 },
    ]),
    durationMs,
  } as const;
  const run = withBursts(
    { ...scenario, faults: new FaultDraw(random, scenario, quarrel).all() },
    world.random('scenario of bursts'),
  );
  const steady = withSteadyReads(run, world.random('scenario of steady reads'));
  return withOutage(steady, world.random('scenario of outages'));
}

function drawClients(random: Random): ClientPlan[] {
  return Array.from({ length: between(random, 2, 4) }, (_, n) => ({
    name: `c${n + 1}`,
    sessionTimeoutMs: between(random, 1_000, 6_000),
    workers: between(random, 1, 4),
  }));
}

function drawTuning(random: Random, quarrel: boolean): Tuning {
  const electionTimeoutMs = quarrel ? between(random, 200, 400) : between(random, 800, 2_500);
  return {
    electionTimeoutMs,
    heartbeatMs: Math.max(20, Math.floor(electionTimeoutMs / between(random, 3, 5))),
    segmentBytes: oneOf(random, [16, 32, 64]) * 1024,
  };
}

/** From a few dozen entries to a few hundred; most servers that were away for a while need a snapshot then, some do not. */
function drawSnapshots(random: Random): SnapshotTuning {
  const logBytes = oneOf(random, [4_000, 8_000, 16_000, 64_000]);
  return {
    logBytes,
    trailingBytes: oneOf(random, [0, 1_000, logBytes]),
    sliceBytes: oneOf(random, [100, 1_000, 20_000]),
    chunkBytes: oneOf(random, [256, 4_096, 65_536]),
    bytesPerSecond: oneOf(random, [10_000, 100_000, 10_000_000]),
  };
}

type Plan = Omit<Scenario, 'faults'>;

class FaultDraw {
  readonly #random: Random;
  readonly #plan: Plan;
  readonly #quarrel: boolean;
  readonly #servers: readonly string[];
  readonly #clients: readonly string[];
  #bitFlipped = false;

  constructor(random: Random, plan: Plan, quarrel: boolean) {
    this.#random = random;
    this.#plan = plan;
    this.#quarrel = quarrel;
    this.#servers = serverIds(plan).map(serverHost);
    this.#clients = plan.clients.map((client) => client.name);
  }

  all(): Fault[] {
    const random = this.#random;
    // One seed in ten is calm: what holds only under faults would hide here.
    if (!this.#quarrel && random.integer(10) === 0) return [];
    const kinds = this.#kinds();
    const gapMs = this.#quarrel ? between(random, 100, 500) : between(random, 400, 4_000);
    const faults: Fault[] = [];
    for (let atMs = FIRST_FAULT_MS; atMs < this.#plan.durationMs; atMs += 1 + random.integer(2 * gapMs)) {
      faults.push(...this.#draw(oneOf(random, kinds), Math.floor(atMs)));
    }
    return faults;
  }

  #kinds(): readonly FaultKind[] {
    const random = this.#random;
    if (this.#quarrel) return ['crash', 'kill', 'partition', 'cut', 'clog', 'pause', 'stop'];
    const kinds = ALL_KINDS.filter((kind) => random.integer(kind === 'pause' ? 2 : 4) === 0);
    return kinds.length > 0 ? kinds : ['crash'];
  }

  #draw(kind: FaultKind, atMs: number): Fault[] {
    const random = this.#random;
    const longest = this.#quarrel ? 800 : oneOf(random, [500, 3_000, 8_000]);
    const lasting = { atMs, forMs: 1 + random.integer(longest) };
    const server = this.#server();
    const host = oneOf(random, [server, this.#client()]);
    switch (kind) {
      case 'crash': {
        const hosts = this.#victims();
        return [{ kind, ...lasting, hosts, tear: oneOf(random, ['none', 'random', 'all'] as const) }];
      }
      case 'kill':
        return [{ kind, ...lasting, hosts: this.#victims() }];
      case 'stop':
        return [{ kind, ...lasting, host: server }];
      case 'pause':
        return [{ kind, ...lasting, host, forMs: host === server ? lasting.forMs : this.#pauseMs(lasting.forMs) }];
      case 'partition':
        return [{ kind, ...lasting, groups: this.#groups() }];
      case 'cut': {
        const [from, to] = this.#link();
        return [{ kind, ...lasting, from, to }];
      }
      case 'clog':
        return this.#swizzle(lasting);
      case 'break': {
        return [{ kind, atMs, hosts: this.#link() }];
      }
      case 'loss':
        return [{ kind, ...lasting, chance: oneOf(random, [0.001, 0.01, 0.05]) }];
      case 'dials': {
        const [from, to] = this.#link();
        return [{ kind, ...lasting, from, to, mode: oneOf(random, ['refused', 'hanging'] as const) }];
      }
      case 'hung-disk':
        return [{ kind, ...lasting, host: oneOf(random, [server, STORE_HOST]) }];
      case 'slow-network':
        return [{ kind, ...lasting, latency: { minMs: 1, maxMs: between(random, 20, 400) } }];
      case 'slow-disk':
        return [{ kind, ...lasting, host: server, latency: { minMs: 1, maxMs: between(random, 50, 1_500) } }];
      case 'disk-error':
        return [
          { kind, ...lasting, host: server, operation: oneOf(random, ['append', 'append', 'sync', 'read'] as const) },
        ];
      case 'full-disk':
        return [{ kind, ...lasting, host: server }];
      case 'bit-flip':
        if (this.#bitFlipped || atMs < this.#plan.durationMs / 2) return [];
        this.#bitFlipped = true;
        return [
          { kind, atMs, host: server, at: random.next(), bit: random.integer(8) },
          { kind: 'crash', atMs: atMs + 1, forMs: 100, hosts: [server], tear: 'none' },
        ];
      case 'wall-jump':
        return [{ kind, atMs, host, byMs: Math.floor((random.next() - 0.5) * 60_000) }];
      case 'clock-rate':
        return [
          {
            kind,
            ...lasting,
            host,
            clock: oneOf(random, ['monotonic', 'monotonic', 'wall'] as const),
            rate: 1 + MAX_CLOCK_RATE_ERROR * (2 * random.next() - 1),
          },
        ];
    }
  }

  #server(): string {
    return this.#random.integer(3) === 0 ? LEADER : oneOf(this.#random, this.#servers);
  }

  #client(): string {
    const random = this.#random;
    return random.integer(3) > 0 ? holderOf(lockName(random.integer(this.#plan.locks))) : oneOf(random, this.#clients);
  }

  /** Most pauses of a client outlast its session, so that it wakes in a world that has gone on without it. */
  #pauseMs(otherwise: number): number {
    const timeouts = this.#plan.clients.map(({ sessionTimeoutMs }) => sessionTimeoutMs);
    if (this.#random.integer(3) === 0) return otherwise;
    return between(this.#random, Math.min(...timeouts), 2 * Math.max(...timeouts));
  }

  /** Some servers or all, a client, or the store. */
  #victims(): string[] {
    const random = this.#random;
    switch (random.integer(6)) {
      case 0:
        return [...this.#servers];
      case 1:
        return [this.#client()];
      case 2:
        return [STORE_HOST];
      case 3:
        return this.#servers.filter(() => random.integer(2) === 0);
      default:
        return [this.#server()];
    }
  }

  #groups(): string[][] {
    const random = this.#random;
    const groups: string[][] = [[], []];
    if (random.integer(2) === 0) {
      // One server alone, with or without a client; or one client without a server.
      const alone = oneOf(random, [this.#server(), this.#client()]);
      groups[0]?.push(alone);
      for (const name of this.#servers) if (name !== alone) groups[1]?.push(name);
      groups[random.integer(2)]?.push(this.#client());
    } else {
      for (const name of [...this.#servers, ...this.#clients, STORE_HOST]) groups[random.integer(2)]?.push(name);
    }
    return groups;
  }

  /** One link clogs; or the links of some hosts do, one after another, and come free again in another order. */
  #swizzle({ atMs, forMs }: { atMs: number; forMs: number }): Fault[] {
    const random = this.#random;
    if (random.integer(2) === 0) {
      const [from, to] = this.#link();
      return [{ kind: 'clog', atMs, forMs, from, to }];
    }
    const hosts = [...this.#servers, ...this.#clients].filter(() => random.integer(2) === 0);
    return hosts.flatMap((host) => {
      const begins = random.integer(Math.ceil(forMs / 2));
      const ends = Math.ceil(forMs / 2) + random.integer(Math.ceil(forMs / 2));
      return this.#servers
        .filter((server) => server !== host)
        .flatMap((server): Fault[] => {
          const clog = { kind: 'clog', atMs: atMs + begins, forMs: ends - begins } as const;
          return [
            { ...clog, from: host, to: server },
            { ...clog, from: server, to: host },
          ];
        });
    });
  }

  #link(): [string, string] {
    const random = this.#random;
    const from = this.#server();
    const to = oneOf(random, [...this.#servers.filter((name) => name !== from), this.#client()]);
    return random.integer(2) === 0 ? [from, to] : [to, from];
  }
}

const ALL_KINDS: readonly FaultKind[] = [
  'crash',
  'kill',
  'stop',
  'pause',
  'partition',
  'cut',
  'clog',
  'break',
  'loss',
  'dials',
  'slow-network',
  'slow-disk',
  'hung-disk',
  'disk-error',
  'full-disk',
  'bit-flip',
  'wall-jump',
  'clock-rate',
];
