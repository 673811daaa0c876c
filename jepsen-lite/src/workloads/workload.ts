/**
 * Something that clients do, and the checkers that judge it. The list of them (index.ts) is all that the rest of the harness knows about
 * workloads. What a workload may touch is its session: it does not know whether the system under test is simulated.
 */

import type { Client } from '@holdfast/client';
import type { Random, Runtime } from '@holdfast/runtime';
import type { CheckerName, Expectations } from '../checkers/check.ts';
import type { ClientPlan } from '../plan/plan.ts';
import type { Calls, Recorder } from './calls.ts';
import type { Group } from './replicas/group.ts';
import type { Store } from './store.ts';

const MAX_PAUSE_MS = 1_150;

/** A worker of this client pauses for less than so long between two steps. */
export function maxPauseOf({ maxPauseMs = MAX_PAUSE_MS }: Pick<ClientPlan, 'maxPauseMs'>): number {
  return maxPauseMs;
}

/** What workloads count on in the schedule of a run. */
export interface ScheduleFacts {
  /** Pauses of holders, each longer than any session lives without them. */
  readonly longPausesOfHolders: number;
}

export interface Workload {
  readonly name: string;
  /** Beside those that judge every history. */
  readonly checks: readonly CheckerName[];
  /** How much of what workers draw is its. @default 1 */
  readonly share?: number;
  /**
   * The clients of one scenario in so many do it as well, drawn from a stream of its own: added to the list, it changes no other
   * scenario. @default the clients of every scenario do it, unless their plan names what they do
   */
  readonly oneIn?: number;
  /** Only clients do it whose plan names it. @default false */
  readonly onRequest?: true;
  /** It uses commands of the latest state version, which an ensemble comes to some time after it has begun. @default false */
  readonly latestVersion?: true;
  /** Somebody holds a lock now and then, whom a fault can strike. @default false */
  readonly takesLocks?: true;
  /** It writes to the fenced store, so that somebody waits for its disk. @default false */
  readonly usesStore?: true;
  /** It uses the replicas of a fenced store, which the plan must have. @default false */
  readonly usesReplicas?: true;
  /** What it demands is met only where clients do nothing else beside it, or only it has a use for some hosts. @default false */
  readonly alone?: true;
  /** A step that had what it came for says so by `round`; on a healed cluster every client must complete some. @default false */
  readonly hasRounds?: true;
  /** Once in each session, before its workers begin. */
  setup?(session: ClientSession): Promise<void>;
  /** One task of a worker. Rejects with what the SDK does not promise. */
  readonly step?: (session: ClientSession) => Promise<void>;
  /** Its steps are not drawn, but due: milliseconds until the next one must begin; undefined: none is due soon. */
  readonly dueInMs?: (session: ClientSession) => number | undefined;
  /** Runs beside the workers, until `goesOn` says no. */
  beside?(session: ClientSession): Promise<void>;
  /** What a run of it must have counted, or it has shown nothing and is `unknown`. */
  demands?(schedule: ScheduleFacts): Expectations;
  /** Once for each client, when everything has healed and nothing new is begun: what is left of all that was done. */
  lastReading?(session: ClientSession): Promise<void>;
}

/** The world around a client: real or simulated. */
export interface ApplicationWorld extends Recorder {
  /** Where servers may be found now. */
  servers(): readonly string[];
  store(runtime: Runtime): Store;
  /** The replicas, as a session reaches them that follows their configuration. Undefined: there are none. */
  group(client: Client, runtime: Runtime): Group | undefined;
  readonly locks: number;
  nowMs(): number;
  random(name: string): Random;
  /** It has drawn random bytes, of which its SDK makes secrets. */
  drawn(who: string, bytes: Uint8Array): void;
  /** Nothing new is begun when this is false. */
  running(): boolean;
  /** Somebody would ask the leader to transfer leadership; not when this says no. */
  mayTransfer(): boolean;
  believed(who: string, lock: string, token: number, hold: number): void;
  unexpected(who: string, error: unknown): void;
}

/** A session, and where its calls are recorded. */
export interface Caller {
  readonly client: Client;
  readonly calls: Calls;
}

/** One session of a client, which its workers share. */
export interface ClientSession extends Caller {
  readonly plan: ClientPlan;
  readonly store: Store;
  /** Undefined: its workloads use no replicas, or there are none. */
  readonly group: Group | undefined;
  /** Of the client: all its workers draw from it. */
  readonly random: Random;
  readonly runtime: Runtime;
  readonly world: ApplicationWorld;
  /** New work may begin. */
  readonly goesOn: () => boolean;
  readonly sleep: (ms: number) => Promise<void>;
  /** A task had what it came for. */
  readonly round: () => void;
}
