/** A run as data, but for its faults: who takes part, on which machines and links. */

import type { Delay } from './fields.ts';

export interface ClientPlan {
  /** Its host: c1, c2, … */
  readonly name: string;
  readonly sessionTimeoutMs: number;
  /** Applications in its process, each with a session and workers of its own. @default 1 */
  readonly sessions?: number;
  /** Tasks that share its session. */
  readonly workers: number;
  /** A worker pauses for less than so many milliseconds between two steps. @default 1,150 */
  readonly maxPauseMs?: number;
  /** What it does, by name. @default what the clients of every scenario do */
  readonly workloads?: readonly string[];
  /** One critical section in three has so many short tasks, at most; undefined: none has more than a few. */
  readonly longSteps?: number;
  /** It takes its time before it writes, and trusts its lock meanwhile. @default one section in five does */
  readonly careless?: true;
  /** Every BURST_EVERY_MS of the world's time, as others do at the same moment, its workers send requests each at once after an answer. */
  readonly bursts?: true;
  /** Beside its workers it reads linearizably, once in so many milliseconds; nobody looks at what. */
  readonly readEveryMs?: number;
  /** Beside its workers it writes so much to a node of its own; nobody looks at what. @default nothing */
  readonly bulkBytesPerSecond?: number;
  /** Beside its workers it has so many sessions that nobody uses, with the workload `crowd`. @default none */
  readonly crowd?: number;
}

/** Of the applications of a client, as the history has them: the first one is called as its host. */
export function applicationNames({ name, sessions = 1 }: Pick<ClientPlan, 'name' | 'sessions'>): string[] {
  return Array.from({ length: sessions }, (_, n) => (n === 0 ? name : `${name}.${n + 1}`));
}

export interface Tuning {
  readonly heartbeatMs: number;
  readonly electionTimeoutMs: number;
  readonly segmentBytes: number;
}

/** When servers take snapshots, and how these travel: small, so that many are taken and installed. */
export interface SnapshotTuning {
  readonly logBytes: number;
  readonly trailingBytes: number;
  readonly sliceBytes: number;
  readonly chunkBytes: number;
  readonly bytesPerSecond: number;
}

/** What a leader may have under way to a follower: little, so that it has to wait, and that one append is not all that it sends. */
export interface ReplicationTuning {
  readonly maxInflightMessages: number;
  readonly maxAppendBytes: number;
}

export interface Plan {
  readonly version: 1;
  /** Of everything that the schedule does not fix: latencies, the programs' own randomness, what applications do next. */
  readonly seed: number;
  readonly servers: 3 | 5;
  readonly clients: readonly ClientPlan[];
  readonly locks: number;
  readonly tuning: Tuning;
  /** So many replicas of a fenced store run beside the servers, as one group. @default none */
  readonly replicas?: 3;
  /** @default as in production: none in so short a time */
  readonly snapshots?: SnapshotTuning;
  /** @default as in production: more than there is to send */
  readonly replication?: ReplicationTuning;
  /**
   * Where a live run changes versions: the built main file of the release that is the older one.
   * @default this build without its last state version
   */
  readonly olderLockd?: string;
  readonly network: Delay;
  readonly disk: Delay;
  /** Faults strike from the beginning of the load until here; then everything heals. */
  readonly durationMs: number;
}

/** Whoever leads when a fault begins. */
export const LEADER = 'leader';
/** From the beginning of the run. */
export const BURST_EVERY_MS = 5_000;
/** The replica that serves when a fault begins. */
export const PRIMARY = 'primary';
export const STORE_HOST = 'kv';
/** Of the replicas. */
export const GROUP = 'jepsen';
/** Of whoever changes the members; no fault strikes it. */
export const OPERATOR_HOST = 'operator';
/** Of who belongs to nobody; no fault strikes it. */
export const STRANGER_HOST = 'stranger';
const HOLDER_PREFIX = 'holder:';

export function lockName(number: number): string {
  return `lock-${number}`;
}

export function holderOf(lock: string): string {
  return `${HOLDER_PREFIX}${lock}`;
}

/** The lock whose holder is meant; undefined for the name of a host. */
export function lockOfHolder(name: string): string | undefined {
  return name.startsWith(HOLDER_PREFIX) ? name.slice(HOLDER_PREFIX.length) : undefined;
}

export function serverHost(id: number): string {
  return `s${id}`;
}

function replicaHost(number: number): string {
  return `r${number}`;
}

/** Hosts of the replicas, whose ids are the same. */
export function replicaHosts({ replicas }: Pick<Plan, 'replicas'>): string[] {
  return Array.from({ length: replicas ?? 0 }, (_, n) => replicaHost(n + 1));
}

/** Servers that the cluster begins with. */
export function serverIds(scenario: Pick<Plan, 'servers'>): number[] {
  return Array.from({ length: scenario.servers }, (_, n) => n + 1);
}
