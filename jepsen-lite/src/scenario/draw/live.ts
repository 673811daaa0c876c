/**
 * Draws a scenario for real processes: the machines, links and disks are what they are, and time is the machine's, so that it holds few
 * clients and faults that come one at a time, each kind in its turn. Its draws are of streams of their own: the same seed, workloads and
 * nemeses give the same plan and the same schedule, whatever else is drawn elsewhere.
 */

import type { Random } from '@holdfast/runtime';
import { randomStream } from '@holdfast/runtime/sim';
import { anyNeeds, NEMESES, nemesisOf, type Fault } from '../../nemeses/index.ts';
import type { FaultBase, FaultDraw } from '../../nemeses/nemesis.ts';
import { between, oneOf } from '../../plan/choices.ts';
import { resolveHosts } from '../../plan/fields.ts';
import { LEADER, lockOfHolder, STORE_HOST, type ClientPlan, type Plan, type SnapshotTuning } from '../../plan/plan.ts';
import { USUAL_NAMES, usesReplicas, workloadsOf } from '../../workloads/index.ts';
import type { Scenario } from '../scenario.ts';
import { drawsOf } from './mixture.ts';
import { drawPattern, isOfReplicas, PATTERNS } from './patterns.ts';

export interface LiveDraw {
  readonly seed: number;
  readonly servers: 3 | 5;
  readonly durationMs: number;
  /** What every client does. @default what clients of every scenario do */
  readonly workloads?: readonly string[];
  /** Kinds of faults, and patterns of them; none: nothing goes wrong. */
  readonly nemeses: readonly string[];
  /** @default 4 */
  readonly clients?: number;
  /** So many kinds have their turns at the same time. @default 1 */
  readonly atOnce?: number;
  /** Where versions change: the main file of the older release. @default {@link Plan.olderLockd} */
  readonly olderLockd?: string;
  /** Applications in each client's process. @default 1 */
  readonly sessionsPerClient?: number;
}

/** What servers of a run with bulk writes keep of their logs: little, so that they take snapshots often. The least that lockd allows. */
const SNAPSHOT_LOG_BYTES = 1024 * 1024;
/**
 * Of all clients together, so that a log is there for some seconds before a snapshot takes its place: a harness on a busy machine has to copy
 * it before. The judge keeps all of the log: longer runs write more slowly.
 */
const BULK_BYTES_PER_SECOND = 384 * 1024;
const BULK_BYTES = 128 * 1024 * 1024;
const CLIENTS = 4;
const LOCKS = 3;
/** Sessions of the crowds of all clients together; fewer where several kinds of faults strike at the same time, which keeps the machine busy. */
const CROWD = 200;
/** Time is dear here: workers pause seldom for long. */
const MAX_PAUSE_MS = 300;
/** By which clients have connected. */
const FIRST_FAULT_MS = 1_500;
/** Between the end of a fault and the next one, and how long one lasts; less where the time is short. */
const MAX_GAP_MS = 2_000;
const MAX_LASTS_MS = 4_000;
/** A kind needs so much time to show. */
const MIN_TURN_MS = 1_500;
/** Rarer ones may pass by every packet of a turn, and all that a proxy reads of one. */
const LEAST_LOSS = 0.01;
const LEAST_PACKET_LOSS = 0.05;
/** A draw that is of several faults, or that finds no place, is made again this often at most. */
const MAX_TRIES = 20;

export function drawLiveScenario(options: LiveDraw): Scenario {
  const { seed, servers, durationMs, nemeses } = options;
  const bulk = options.workloads?.includes('bulk-writes') === true || nemeses.includes('fall-behind');
  const added = [...(bulk ? ['bulk-writes'] : []), ...(nemeses.some(isOfReplicas) ? ['replicated-kv'] : [])];
  const workloads = added.length > 0 ? withWorkloads(options.workloads, added) : options.workloads;
  const random = randomStream(seed, 'live plan');
  const bursts = workloads?.includes('bursts') === true;
  const steady = workloads?.includes('steady-reads') === true;
  const crowd = workloads?.includes('crowd') === true;
  const { clients: count = CLIENTS, sessionsPerClient = 1, atOnce = 1 } = options;
  const clients = Array.from({ length: count }, (_, n): ClientPlan => ({
    name: `c${n + 1}`,
    sessionTimeoutMs: between(random, 1_500, 3_000),
    workers: between(random, 2, 4),
    maxPauseMs: MAX_PAUSE_MS,
    ...(workloads === undefined ? {} : { workloads: [...workloads] }),
    ...(bursts ? { bursts: true as const } : {}),
    ...(steady ? { readEveryMs: 50 } : {}),
    ...(bulk ? { bulkBytesPerSecond: bulkBytesPerSecond(count * sessionsPerClient, durationMs) } : {}),
    ...(crowd ? { crowd: Math.ceil(CROWD / (count * sessionsPerClient * atOnce)) } : {}),
    ...(sessionsPerClient === 1 ? {} : { sessions: sessionsPerClient }),
  }));
  const plan: Plan = {
    version: 1,
    seed,
    servers,
    clients,
    locks: LOCKS,
    tuning: { heartbeatMs: 100, electionTimeoutMs: 1_000, segmentBytes: 64 * 1024 },
    // What a simulation of the same scenario makes of this machine's links and disk.
    network: { minMs: 0.1, maxMs: 1 },
    disk: { minMs: 0.05, maxMs: 2 },
    durationMs,
    ...(usesReplicas(clients) ? { replicas: 3 as const } : {}),
    ...(bulk ? { snapshots: drawSnapshots(randomStream(seed, 'live snapshots')) } : {}),
  };
  const drawn = drawSchedule(randomStream(seed, 'live schedule'), plan, { ...options, nemeses });
  const locked = clients.some((client) => workloadsOf(client).some(({ takesLocks }) => takesLocks === true));
  const faults = locked ? drawn : withoutHolders(randomStream(seed, 'live clients for holders'), plan, drawn);
  const { olderLockd } = options;
  return { ...plan, ...(olderLockd !== undefined && anyNeeds(faults, 'versions') ? { olderLockd } : {}), faults };
}

/** Faults that only show in what these do have them done. */
function withWorkloads(workloads: readonly string[] = USUAL_NAMES, added: readonly string[]): readonly string[] {
  return [...new Set([...workloads, ...added])];
}

/** Of each client. */
function bulkBytesPerSecond(clients: number, durationMs: number): number {
  const together = Math.min(BULK_BYTES_PER_SECOND, (1_000 * BULK_BYTES) / durationMs);
  return Math.ceil(together / clients);
}

/**
 * Slices and chunks are what a simulation of it makes of them. Some log always stays behind a snapshot: what was written right before one
 * would be gone before the harness has copied it.
 */
function drawSnapshots(random: Random): SnapshotTuning {
  const trailingBytes = oneOf(random, [SNAPSHOT_LOG_BYTES / 4, SNAPSHOT_LOG_BYTES / 2]);
  const bytesPerSecond = oneOf(random, [1, 8]) * 1024 * 1024;
  return {
    logBytes: SNAPSHOT_LOG_BYTES,
    trailingBytes,
    sliceBytes: 128 * 1024,
    chunkBytes: 256 * 1024,
    bytesPerSecond,
  };
}

/** How long a load must be in which each of so many kinds has its turn, when so many have theirs at once. */
export function leastDurationMs(kinds: number, atOnce = 1): number {
  return FIRST_FAULT_MS + Math.ceil(kinds / atOnce) * MIN_TURN_MS;
}

/** The kinds in turn, again and again; each has at least one. @throws TypeError when the load is too short for that */
function drawSchedule(
  random: Random,
  plan: Plan,
  { nemeses: kinds, atOnce = 1 }: Pick<LiveDraw, 'nemeses' | 'atOnce'>,
): Fault[] {
  if (kinds.length === 0) return [];
  if (plan.durationMs < leastDurationMs(kinds.length, atOnce)) {
    throw new TypeError(`${plan.durationMs} ms are too short for ${kinds.length} kinds of faults`);
  }
  const drawOf = drawsOf(random, plan);
  const storeIsUsed = plan.clients.some((client) => workloadsOf(client).some(({ usesStore }) => usesStore === true));
  const faults: Fault[] = [];
  const rounds = Math.ceil(kinds.length / atOnce);
  const turnMs = Math.min(MAX_GAP_MS + MAX_LASTS_MS, (plan.durationMs - FIRST_FAULT_MS) / rounds);
  const turns = Math.floor((plan.durationMs - FIRST_FAULT_MS) / turnMs + Number.EPSILON * rounds);
  for (let turn = 0; turn < turns * atOnce; turn += 1) {
    const name = kinds[turn % kinds.length] ?? '';
    // The rest of a turn is for the servers to come back.
    const forMs = between(random, Math.floor(turnMs / 4), Math.floor((2 * turnMs) / 3));
    // Turns of the same time begin one after another.
    const atMs = Math.floor(FIRST_FAULT_MS + (turn / atOnce) * turnMs);
    const times = { atMs, forMs };
    faults.push(
      ...(isPattern(name)
        ? drawPattern(name, random, plan, times, faults)
        : drawKind(name, { before: faults, storeIsUsed }, () => drawOf(times, faults))),
    );
  }
  return faults;
}

/** Where nobody takes a lock, clients are struck in place of holders. */
function withoutHolders(random: Random, { clients }: Plan, faults: readonly Fault[]): Fault[] {
  const anyClient = (): string => oneOf(random, clients).name;
  return faults.map((fault) =>
    resolveHosts(fault, nemesisOf(fault.kind)?.fields ?? {}, (name) =>
      lockOfHolder(name) === undefined ? name : anyClient(),
    ),
  );
}

function isPattern(name: string): boolean {
  return PATTERNS.some((pattern) => pattern.name === name);
}

/** Whether something must show, whoever leads: a run is too short to draw again and again what may strike nobody. */
function strikesSurely(fault: Fault, storeIsUsed: boolean): boolean {
  if (fault.kind === 'kill') return fault.hosts.length > 0;
  if (fault.kind === 'partition') return fault.groups.every((group) => group.length > 0);
  if (fault.kind === 'break') return maySpeak(...fault.hosts);
  if (fault.kind === 'cut') return maySpeak(fault.from, fault.to);
  if (fault.kind === 'bandwidth') return isServing(fault.from) && isServer(fault.to);
  // A client speaks with one server at a time.
  if (fault.kind === 'clog') return isServer(fault.from) && isServer(fault.to);
  // Other hosts have no disk that anybody looks at, and no clock that may drift.
  if (fault.kind === 'crash') return fault.hosts.some((host) => host === STORE_HOST || isServing(host));
  if (fault.kind === 'clock-rate' || fault.kind === 'wall-jump') return isServing(fault.host);
  if (fault.kind === 'loss') return fault.chance >= LEAST_LOSS;
  if (fault.kind === 'packet-loss') return fault.share >= LEAST_PACKET_LOSS;
  if (fault.kind === 'hung-disk') return fault.host !== STORE_HOST || storeIsUsed;
  // A log syncs what it writes by the write itself, and reads when it starts.
  if (fault.kind === 'disk-error') return fault.operation === 'append';
  // Servers dial each other; nobody dials a client.
  if (fault.kind === 'dials') return isServer(fault.from) && isServer(fault.to);
  return true;
}

/** Not the leader and a server that may be just that one. */
function maySpeak(one: string, other: string): boolean {
  return !((one === LEADER && isServer(other)) || (other === LEADER && isServer(one)));
}

function isServing(name: string): boolean {
  return name === LEADER || isServer(name);
}

function isServer(name: string): boolean {
  return /^s\d+$/.test(name);
}

interface Drawn {
  readonly before: readonly FaultBase[];
  readonly storeIsUsed: boolean;
}

/** None when the last one of its kind still lasts. */
function drawKind(kind: string, { before, storeIsUsed }: Drawn, draw: () => FaultDraw): readonly Fault[] {
  const nemesis = nemesisOf(kind);
  if (nemesis?.draw === undefined) throw new TypeError(`no nemesis "${kind}" can be drawn`);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    // Each nemesis draws its own faults, and those are what a scenario may hold.
    const drawn = nemesis.draw(draw()) as readonly Fault[];
    const surely = drawn.filter((fault) => strikesSurely(fault, storeIsUsed));
    // Of the links of some hosts one that surely shows suffices.
    const oneSuffices = kind === 'clog' || kind === 'bandwidth';
    if (surely.length > 0 && (oneSuffices || surely.length === drawn.length)) return drawn;
  }
  if (before.some((fault) => fault.kind === kind)) return [];
  throw new TypeError(`${MAX_TRIES} draws of "${kind}" had no place in the scenario`);
}

/** It has no place in the first half of a load, nor twice: the pattern `damaged-log` has it at any time. */
const BY_PATTERN_ONLY: Fault['kind'] = 'bit-flip';

/** Kinds that a seed can draw by themselves: others belong to what they are drawn with. */
export function drawableNemeses(): string[] {
  const drawable = NEMESES.filter((nemesis) => nemesis.draw !== undefined && nemesis.kind !== BY_PATTERN_ONLY);
  return drawable.map(({ kind }) => kind);
}
