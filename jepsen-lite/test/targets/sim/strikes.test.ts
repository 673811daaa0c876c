import { describe, expect, it } from 'vitest';
import { effectsOf, NEMESES, type Fault, type FaultKind } from '../../../src/nemeses/index.ts';
import { Inflictor } from '../../../src/nemeses/inflictor.ts';
import type { Effect } from '../../../src/nemeses/target.ts';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';
import { Cluster } from '../../../src/targets/sim/cluster.ts';
import { NOT_SIMULATED, SimTarget } from '../../../src/targets/sim/sim-target.ts';

/** Whose clients write enough for a full disk to be noticed, and not so much that a server falls behind by itself. */
const CLIENTS_OF = 13;

/** Three servers that take snapshots often, and two clients, on links and disks that are quick. */
const CALM: Scenario = {
  ...drawScenario(5),
  servers: 3,
  clients: drawScenario(CLIENTS_OF).clients.slice(0, 2),
  tuning: { electionTimeoutMs: 800, heartbeatMs: 160, segmentBytes: 16 * 1024 },
  network: { minMs: 0.1, maxMs: 1 },
  disk: { minMs: 0.05, maxMs: 1 },
  snapshots: { logBytes: 4_000, trailingBytes: 0, sliceBytes: 20_000, chunkBytes: 4_096, bytesPerSecond: 10_000_000 },
  durationMs: 20_000,
  faults: [],
};

const atMs = 4_000;
const forMs = 3_000;
const [one, other] = ['s1', 's2'];

type SimulatedKind = Exclude<FaultKind, 'second-start' | 'change-version'>;
const SIMULATED = NEMESES.filter(({ needs }) => !NOT_SIMULATED.some((name) => needs.includes(name))).map(
  ({ kind }) => kind as SimulatedKind,
);

/** At least one fault of each kind that a simulation can inflict, placed where it has something to strike while clients are served. */
const STRIKING: Readonly<Record<SimulatedKind, readonly Fault[]>> = {
  crash: [{ kind: 'crash', atMs, forMs, hosts: [one], tear: 'none' }],
  kill: [{ kind: 'kill', atMs, forMs, hosts: [one] }],
  stop: [{ kind: 'stop', atMs, forMs, host: one }],
  pause: [{ kind: 'pause', atMs, forMs, host: one }],
  partition: [{ kind: 'partition', atMs, forMs, groups: [[one], [other, 's3']] }],
  cut: [one, other].map((to) => ({ kind: 'cut', atMs, forMs, from: 'leader', to })),
  clog: [one, other].map((to) => ({ kind: 'clog', atMs, forMs, from: 'leader', to })),
  break: [{ kind: 'break', atMs, hosts: [one, other] }],
  loss: [{ kind: 'loss', atMs, forMs, chance: 0.05 }],
  // Somebody has to dial.
  dials: [
    { kind: 'dials', atMs, forMs, from: one, to: other, mode: 'hanging' },
    { kind: 'dials', atMs, forMs, from: other, to: one, mode: 'refused' },
    { kind: 'break', atMs: atMs + 1, hosts: [one, other] },
  ],
  'slow-network': [{ kind: 'slow-network', atMs, forMs, latency: { minMs: 5, maxMs: 100 } }],
  'slow-disk': [{ kind: 'slow-disk', atMs, forMs, host: one, latency: { minMs: 5, maxMs: 100 } }],
  'hung-disk': [{ kind: 'hung-disk', atMs, forMs, host: one }],
  'disk-error': [{ kind: 'disk-error', atMs, forMs, host: one, operation: 'append' }],
  'full-disk': [{ kind: 'full-disk', atMs, forMs: 15_000, host: one }],
  'bit-flip': [
    { kind: 'bit-flip', atMs: 10_000, host: one, at: 0.5, bit: 1 },
    { kind: 'crash', atMs: 10_001, forMs: 100, hosts: [one], tear: 'none' },
  ],
  'wall-jump': [{ kind: 'wall-jump', atMs, host: 'leader', byMs: 5_000 }],
  'clock-rate': [{ kind: 'clock-rate', atMs, forMs, host: one, clock: 'monotonic', rate: 1.01 }],
  'add-member': [{ kind: 'add-member', atMs, server: 4, observer: false, startAfterMs: 0 }],
  'promote-member': [
    { kind: 'add-member', atMs: 2_000, server: 4, observer: true, startAfterMs: 0 },
    { kind: 'promote-member', atMs: 6_000, server: 4 },
  ],
  'remove-member': [{ kind: 'remove-member', atMs, server: 'leader' }],
  'lose-disk': [{ kind: 'lose-disk', atMs, server: 2 }],
  intrude: [{ kind: 'intrude', atMs, server: 1, as: 2, purpose: 'log', hasty: false }],
  usurp: [
    { kind: 'usurp', atMs: 0, forMs, server: 1 },
    { kind: 'usurp', atMs, forMs, server: 1 },
  ],
  replay: [{ kind: 'replay', atMs, server: 1 }],
  'transfer-leadership': [{ kind: 'transfer-leadership', atMs, server: 0 }],
  'fall-behind': [{ kind: 'fall-behind', atMs, forMs: 12_000, hosts: [one] }],
  'packet-loss': [{ kind: 'packet-loss', atMs, forMs, share: 0.05 }],
  bandwidth: [one, other].map((to) => ({ kind: 'bandwidth', atMs, forMs, from: 'leader', to, bytesPerSecond: 2_000 })),
};

interface Run {
  readonly cluster: Cluster;
  readonly inflictor: Inflictor;
  /** What the world's own beginning counted. */
  readonly before: ReadonlyMap<Effect, number>;
}

/** A run without healing and what comes after it. */
async function inflict(faults: readonly Fault[], { running }: { readonly running: boolean }): Promise<Run> {
  const cluster = new Cluster({ ...CALM, faults });
  const inflictor = new Inflictor(new SimTarget(cluster));
  if (!running) for (const { host } of cluster.servers.values()) host.kill();
  const before = cluster.struck;
  inflictor.schedule(faults);
  if (running) cluster.start();
  await cluster.runUntil(() => false, running ? CALM.durationMs : atMs + 1_000);
  expect(cluster.violation).toBeUndefined();
  return { cluster, inflictor, before };
}

/** By which a kind is known to have struck, summed up. */
function strikes({ cluster, before }: Run, kind: string): number {
  const { struck } = cluster;
  return effectsOf(kind).reduce((sum, effect) => sum + (struck.get(effect) ?? 0) - (before.get(effect) ?? 0), 0);
}

describe('the counted effects of a nemesis', { timeout: 30_000 }, () => {
  it.each(SIMULATED)('rise when it strikes (%s)', async (kind) => {
    const run = await inflict(STRIKING[kind], { running: true });
    expect(run.inflictor.begun.get(kind)).toBeGreaterThan(0);
    expect(strikes(run, kind)).toBeGreaterThan(0);
    expect(run.inflictor.idle).toEqual([]);
  });

  it('stay 0 under load without faults, each of them', async () => {
    const run = await inflict([], { running: true });
    expect(run.cluster.locks.commands.get('acquire')).toBeGreaterThan(0);
    const risen = NEMESES.map(({ kind }) => kind).filter((kind) => strikes(run, kind) > 0);
    expect(risen).toEqual([]);
  });
});

/** Where nobody runs there is nothing to strike; a port is taken of whoever does not run, so that this one needs servers. */
const IN_VAIN = SIMULATED.filter((kind) => kind !== 'usurp');

describe('a nemesis that strikes nobody', { timeout: 30_000 }, () => {
  const target = { atMs, forMs: 2_000 };

  it.each(IN_VAIN)('has begun, has no effect, and is reported as idle (%s)', async (kind) => {
    const faults = STRIKING[kind].map((fault) => ({
      ...nobodyLeads(fault),
      ...('forMs' in fault ? target : { atMs }),
    }));
    const run = await inflict(faults as Fault[], { running: false });
    expect(run.inflictor.begun.get(kind)).toBeGreaterThan(0);
    expect(strikes(run, kind)).toBe(0);
    expect(run.inflictor.idle).toContain(kind);
  });

  it('has begun, has no effect, and is reported as idle (usurp)', async () => {
    const run = await inflict([{ kind: 'usurp', atMs, forMs, server: 1 }], { running: true });
    expect(run.inflictor.begun.get('usurp')).toBe(1);
    expect(strikes(run, 'usurp')).toBe(0);
    expect(run.inflictor.idle).toEqual(['usurp']);
  });

  it('is idle, too, when its name stands for nobody, so that it never begins', async () => {
    const run = await inflict([{ kind: 'pause', atMs, forMs, host: 'leader' }], { running: false });
    expect(run.inflictor.begun.get('pause')).toBeUndefined();
    expect(run.inflictor.idle).toEqual(['pause']);
  });
});

function nobodyLeads(fault: Fault): Fault {
  return JSON.parse(JSON.stringify(fault).replaceAll('"leader"', '"s3"')) as Fault;
}
