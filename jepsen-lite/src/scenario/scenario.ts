/**
 * One simulated run as data: who takes part, on which machines and links, what goes wrong and when. A seed draws one (draw/draw.ts); a
 * failing one is shrunk by leaving parts out; a saved one is replayed exactly. Nothing in a run is decided anywhere else.
 */

/** How long something takes, drawn anew each time; with a mean, exponential between the bounds. */
type Delay =
  | { readonly minMs: number; readonly maxMs: number }
  | { readonly minMs: number; readonly meanMs: number; readonly maxMs: number };

export interface ClientPlan {
  /** Its host: c1, c2, … */
  readonly name: string;
  readonly sessionTimeoutMs: number;
  /** Tasks that share its session. */
  readonly workers: number;
  /** One critical section in three has so many short tasks, at most; undefined: none has more than a few. */
  readonly longSteps?: number;
  /** Every BURST_EVERY_MS of the world's time, as others do at the same moment, its workers send requests each at once after an answer. */
  readonly bursts?: true;
  /** Beside its workers it reads linearizably, once in so many milliseconds; nobody looks at what. */
  readonly readEveryMs?: number;
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
interface ReplicationTuning {
  readonly maxInflightMessages: number;
  readonly maxAppendBytes: number;
}

interface Timed {
  readonly atMs: number;
}

interface Lasting extends Timed {
  readonly forMs: number;
}

type Tear = 'none' | 'all' | 'random';

/**
 * Hosts are servers (s1 …), clients (c1 …) and the store (kv); or, looked up when the fault begins, `leader` and `holder:LOCK`, the
 * client that holds that lock. What cannot strike then (a dead host crashes, nobody leads) does nothing.
 */
export type Fault =
  /** Power failure of the machines, together; each starts again after `forMs`. */
  | (Lasting & { readonly kind: 'crash'; readonly hosts: readonly string[]; readonly tear: Tear })
  /** SIGKILL: the disk cache survives. */
  | (Lasting & { readonly kind: 'kill'; readonly hosts: readonly string[] })
  /** SIGTERM: hands over, closes, starts again after `forMs`. */
  | (Lasting & { readonly kind: 'stop'; readonly host: string })
  | (Lasting & { readonly kind: 'pause'; readonly host: string })
  /** No host reaches one of another group. */
  | (Lasting & { readonly kind: 'partition'; readonly groups: readonly (readonly string[])[] })
  /** One way. */
  | (Lasting & { readonly kind: 'cut'; readonly from: string; readonly to: string })
  /** One way: what is sent waits, connections live. */
  | (Lasting & { readonly kind: 'clog'; readonly from: string; readonly to: string })
  /** Resets the connections between two hosts. */
  | (Timed & { readonly kind: 'break'; readonly hosts: readonly [string, string] })
  /** Every frame breaks its connection with this chance. */
  | (Lasting & { readonly kind: 'loss'; readonly chance: number })
  | (Lasting & {
      readonly kind: 'dials';
      readonly from: string;
      readonly to: string;
      readonly mode: 'refused' | 'hanging';
    })
  | (Lasting & { readonly kind: 'slow-network'; readonly latency: Delay })
  | (Lasting & { readonly kind: 'slow-disk'; readonly host: string; readonly latency: Delay })
  /** No operation ends before `forMs` are over. */
  | (Lasting & { readonly kind: 'hung-disk'; readonly host: string })
  /** The next operation of that kind fails; the process dies of it and starts again after `forMs`. */
  | (Lasting & { readonly kind: 'disk-error'; readonly host: string; readonly operation: 'append' | 'sync' | 'read' })
  | (Lasting & { readonly kind: 'full-disk'; readonly host: string })
  /** A bit of what a server's log has acknowledged; found when it is read, or at the next start, which cuts the log there and bans the vote. */
  | (Timed & { readonly kind: 'bit-flip'; readonly host: string; readonly at: number; readonly bit: number })
  | (Timed & { readonly kind: 'wall-jump'; readonly host: string; readonly byMs: number })
  | (Lasting & {
      readonly kind: 'clock-rate';
      readonly host: string;
      readonly clock: 'monotonic' | 'wall';
      readonly rate: number;
    });

/**
 * What operators do about the members. The cluster begins with the servers 1 to `servers`; those that are added have higher numbers,
 * each on a host of its own. What cannot be done then (nobody leads, or the rest could not decide any more) is left out.
 */
export type MemberStep =
  /** Started to join `startAfterMs` after it was asked for. */
  | (Timed & {
      readonly kind: 'add';
      readonly server: number;
      readonly observer: boolean;
      readonly startAfterMs: number;
    })
  | (Timed & { readonly kind: 'promote'; readonly server: number })
  | (Timed & { readonly kind: 'remove'; readonly server: number | typeof LEADER })
  /** Its disk is replaced by an empty one, as soon as everybody knows what was on the first; it starts again as before. */
  | (Timed & { readonly kind: 'lose-disk'; readonly server: number });

/** What strangers do: processes that belong to nobody, at the peer ports and at those for clients. */
export type StrangerStep =
  /** Somebody dials a server as another one, and proves a data directory that is made up. */
  | (Timed & {
      readonly kind: 'intrude';
      readonly server: number;
      readonly as: number;
      readonly purpose: 'log' | 'snapshot' | 'expulsion';
      /** It does not wait for its welcome. */
      readonly hasty: boolean;
    })
  /** Somebody is at a server's peer address whenever the server does not run. From time 0: the server starts only afterwards. */
  | (Lasting & { readonly kind: 'usurp'; readonly server: number })
  /** A client with a session of its own sends what was answered again, copies of what is under way, and requests without a number. */
  | (Timed & { readonly kind: 'replay'; readonly server: number });

export type FaultKind = Fault['kind'];

export interface Scenario {
  readonly version: 1;
  /** Of everything that the schedule does not fix: latencies, the programs' own randomness, what applications do next. */
  readonly seed: number;
  readonly servers: 3 | 5;
  readonly clients: readonly ClientPlan[];
  readonly locks: number;
  readonly tuning: Tuning;
  /** @default as in production: none in so short a time */
  readonly snapshots?: SnapshotTuning;
  /** @default as in production: more than there is to send */
  readonly replication?: ReplicationTuning;
  readonly network: Delay;
  readonly disk: Delay;
  /** Faults strike from the beginning of the load until here; then everything heals. */
  readonly durationMs: number;
  readonly faults: readonly Fault[];
  /** @default none: the members stay */
  readonly members?: readonly MemberStep[];
  /** @default none */
  readonly strangers?: readonly StrangerStep[];
}

/** From the beginning of the run. */
export const BURST_EVERY_MS = 5_000;
export const STORE_HOST = 'kv';
/** Of whoever changes the members; no fault strikes it. */
export const OPERATOR_HOST = 'operator';
/** Of who belongs to nobody; no fault strikes it. */
export const STRANGER_HOST = 'stranger';
export const LEADER = 'leader';
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

/** Servers that are added in the course of the run. */
export function joiningIds({ servers, members = [] }: Pick<Scenario, 'servers' | 'members'>): number[] {
  const added = members.filter(({ kind, server }) => kind === 'add' && Number(server) > servers);
  return [...new Set(added.map(({ server }) => Number(server)))].toSorted((a, b) => a - b);
}

/** Servers that the cluster begins with. */
export function serverIds(scenario: Pick<Scenario, 'servers'>): number[] {
  return Array.from({ length: scenario.servers }, (_, n) => n + 1);
}
