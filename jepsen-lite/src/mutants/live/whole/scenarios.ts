/**
 * Short live runs in which planted bugs show: what clients do, and the fault that the bug needs. Each strikes early and surely, by the
 * schedule of the scenario alone; the seed draws the rest. They need no links, so that a machine runs them on its loopback.
 */

import type { Fault } from '../../../nemeses/index.ts';
import { holderOf, LEADER, lockName, STORE_HOST, type ClientPlan } from '../../../plan/plan.ts';
import { drawLiveScenario } from '../../../scenario/draw/live.ts';
import type { Scenario } from '../../../scenario/scenario.ts';

const SERVERS = ['s1', 's2', 's3'] as const;
const CLIENTS = 3;
const HOUR_MS = 3_600_000;
/** A second process of a stopped server asks for so long whether the first one lives. */
const STOPPED_MS = 9_000;
/** Longer than any session of these runs lives. */
const HOLDER_STOPPED_MS = 3_500;
const HOLDER_STOPS_AT_MS = [4_000, 8_000, 12_000, 16_000, 20_000];
const JUMPS_AT_MS = [4_000, 4_600, 5_200, 5_800, 6_400, 7_000];

/** By the fault that strikes. */
export type WholeRunName =
  | 'power loss of all servers'
  | 'power loss of the store'
  | 'a failing write, then a kill'
  | 'a kill'
  | 'a stop'
  | 'a second start of a stopped server'
  | 'wall clocks that jump back'
  | 'pauses of a holder'
  | 'pauses of a careless holder';

interface WholeRun {
  readonly workloads: readonly string[];
  readonly durationMs: number;
  readonly faults: readonly Fault[];
  /** What all clients have otherwise than drawn. */
  readonly clients?: Partial<ClientPlan>;
  /** @default as drawn */
  readonly locks?: number;
}

const WRITES = ['registers', 'critical-sections', 'bursts'];
const SECTIONS = ['critical-sections'];

const PAUSES_OF_A_HOLDER = HOLDER_STOPS_AT_MS.map((atMs): Fault => ({
  kind: 'pause',
  atMs,
  forMs: HOLDER_STOPPED_MS,
  host: holderOf(lockName(0)),
}));

const RUNS: Readonly<Record<WholeRunName, WholeRun>> = {
  'power loss of all servers': {
    workloads: WRITES,
    // Clients may start slowly, and must have written.
    durationMs: 13_500,
    faults: [{ kind: 'crash', atMs: 12_000, forMs: 500, hosts: SERVERS, tear: 'none' }],
  },
  'power loss of the store': {
    workloads: SECTIONS,
    durationMs: 10_000,
    faults: [{ kind: 'crash', atMs: 9_000, forMs: 300, hosts: [STORE_HOST], tear: 'none' }],
    clients: { sessionTimeoutMs: 3_000, workers: 2, longSteps: 1 },
    locks: 1,
  },
  'a failing write, then a kill': {
    workloads: WRITES,
    durationMs: 8_000,
    faults: [
      { kind: 'disk-error', atMs: 2_000, forMs: 2_500, host: 's1', operation: 'append' },
      { kind: 'kill', atMs: 5_500, forMs: 500, hosts: ['s1'] },
    ],
  },
  'a kill': {
    workloads: ['registers', 'critical-sections'],
    durationMs: 4_000,
    faults: [{ kind: 'kill', atMs: 1_500, forMs: 500, hosts: [LEADER] }],
  },
  'a stop': {
    workloads: ['registers', 'critical-sections'],
    durationMs: 4_000,
    faults: [{ kind: 'stop', atMs: 1_500, forMs: 500, host: LEADER }],
  },
  'a second start of a stopped server': {
    workloads: SECTIONS,
    durationMs: 12_000,
    faults: [
      { kind: 'pause', atMs: 1_500, forMs: STOPPED_MS, host: 's1' },
      { kind: 'second-start', atMs: 1_700, host: 's1' },
    ],
  },
  'wall clocks that jump back': {
    workloads: SECTIONS,
    durationMs: 8_000,
    faults: [
      ...SERVERS.map((host): Fault => ({ kind: 'wall-jump', atMs: 3_000, host, byMs: -HOUR_MS })),
      // A worker that sleeps between two sections is met by one of them.
      ...JUMPS_AT_MS.flatMap((atMs) =>
        ['c1', 'c2', 'c3'].map((host): Fault => ({ kind: 'wall-jump', atMs, host, byMs: -HOUR_MS })),
      ),
    ],
    clients: { workers: 1 },
  },
  'pauses of a holder': {
    workloads: SECTIONS,
    durationMs: 25_000,
    faults: PAUSES_OF_A_HOLDER,
    // Long sections, in which belief is asked for again and again.
    clients: { sessionTimeoutMs: 1_500, workers: 2, longSteps: 60 },
    locks: 1,
  },
  'pauses of a careless holder': {
    workloads: SECTIONS,
    durationMs: 25_000,
    faults: PAUSES_OF_A_HOLDER,
    clients: { sessionTimeoutMs: 1_500, workers: 2, longSteps: 1, careless: true },
    locks: 1,
  },
};

/** The seed draws the clients, and what they do. */
export function wholeRun(name: WholeRunName, seed: number): Scenario {
  const { workloads, durationMs, faults, clients, locks } = RUNS[name];
  const drawn = drawLiveScenario({ seed, servers: 3, durationMs, workloads, nemeses: [], clients: CLIENTS });
  return {
    ...drawn,
    ...(locks === undefined ? {} : { locks }),
    clients: drawn.clients.map((client) => ({ ...client, ...clients })),
    faults,
  };
}
