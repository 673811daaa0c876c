/**
 * A system under test, as nemeses see it: what may be done to its machines, links, disks and clocks. The simulation implements it, and
 * real processes can. A target that lacks a capability leaves it out; a nemesis names those that it needs, and the compiler holds it to
 * them. What takes time may answer with a promise; what is done at once must not, so that a simulated run stays as it is.
 */

import type { StruckFault } from '@holdfast/runtime/sim';
import type { Delay } from '../plan/fields.ts';
import type { LEADER } from '../plan/plan.ts';

/** A promise where it takes time; nothing where it is done. */
export type Done = void | Promise<void>;

/** What shows at an ensemble, where the machines and links that it is on have nothing to show. */
export const ENSEMBLE_EFFECTS = [
  /** A server that ran was asked to stop. */
  'terminated',
  /** An operator was told so. */
  'member-added',
  'member-promoted',
  'member-removed',
  /** A client that knows an observer only was answered all that it asked. */
  'observer-served',
  /** A server began again on an empty disk; it was told that it has no place. */
  'disk-lost',
  'lost-disk-refused',
  'leadership-transferred',
  /** Connections that strangers opened, and those of them that servers closed unheard. */
  'stranger-connected',
  'stranger-refused',
  /** Ports of servers that did not run. */
  'port-taken',
  /** Servers that dialled there and were told that they are no members. */
  'server-misled',
  /** News of an expulsion that was heard, since the ensemble did not know the server yet at whose address it is. */
  'expulsion-forged',
  /** Requests that clients sent again unasked, or without a number, and clients that lost their connection by the latter. */
  'request-replayed',
  'replayer-dropped',
  /** A server lacked log that the others had forgotten, and was sent a snapshot. */
  'snapshot-installed',
  /** A second process of a server that lived: its directory refused it. */
  'second-start-refused',
  /** A server serves as another version of the program than before. */
  'version-changed',
] as const;

/** What takes effect on a program and is counted there: a cut that held nothing up has not struck. */
export type Effect = StruckFault | (typeof ENSEMBLE_EFFECTS)[number];

/** Everything takes the name of a host; what cannot strike then (one that is down is killed) does nothing. */
export interface Capabilities {
  readonly processes: {
    /** SIGKILL: what the system has cached of the disk survives. */
    kill(host: string): Done;
    /** After a kill: done when the others have forgotten the log that this one lacks, or cannot be made to. @default by their plan they have */
    forgotten?(host: string): Done;
    /** SIGTERM: servers transfer leadership and close. */
    terminate(host: string): Done;
    /** SIGSTOP, until as many `resume` have come: two faults may pause one process. */
    pause(host: string): Done;
    resume(host: string): Done;
    /** Unless it runs, or only an operator could start it. */
    start(host: string): Done;
  };
  readonly power: {
    /** The machine loses its power: of writes that were not synced all, none, or a random part is gone. */
    fail(host: string, tear: Tear): Done;
  };
  readonly links: {
    /** Everything from one host to another is dropped, until as many `mend` have come. */
    cut(from: string, to: string): Done;
    mend(from: string, to: string): Done;
    /** Of what is sent on any link this share is dropped, and has to be sent again after a pause. 0: nothing is. */
    setPacketLoss(share: number): Done;
  };
  readonly connections: {
    /** Resets those between two hosts. */
    reset(one: string, other: string): Done;
    /** Every frame breaks its connection with this chance. 0: none does. */
    setLoss(chance: number): Done;
    setDials(mode: DialMode, from: string, to: string): Done;
  };
  readonly delays: {
    /** What is sent one way waits for so long; connections live. */
    clog(from: string, to: string, forMs: number): Done;
    /** What is sent on any link takes so long. Undefined: as without faults. */
    slow(latency: Delay | undefined): Done;
    /** No more than so many bytes a second get from one host to another, until as many `unlimit` have come. */
    limit(from: string, to: string, bytesPerSecond: number): Done;
    unlimit(from: string, to: string): Done;
  };
  readonly disks: {
    /** What makes something durable takes so long. Undefined: as without faults. */
    slow(host: string, latency: Delay | undefined): Done;
    /** No operation ends before the time is over. */
    hang(host: string, forMs: number): Done;
    /** The next operation of that kind fails. */
    failNext(host: string, operation: DiskOperation): Done;
    /** No space is left, until `free`. */
    fill(host: string): Done;
    free(host: string): Done;
  };
  readonly damage: {
    /** Of what a server's log has acknowledged. @param at how far into the log, from 0 to 1 */
    flipBit(host: string, at: number, bit: number): Done;
  };
  readonly clocks: {
    jumpWall(host: string, byMs: number): Done;
    /** 1: as fast as time. */
    setRate(host: string, clock: ClockKind, rate: number): Done;
  };
  /** What operators do: done when it was made, or refused for good. Servers are meant by their numbers. */
  readonly members: {
    /** The server starts so much later than it is asked for. */
    add(server: number, how: { readonly observer: boolean; readonly startAfterMs: number }): Done;
    promote(server: number): Done;
    remove(server: number | typeof LEADER): Done;
    /** As soon as it can be refused, and a majority keeps its own. */
    loseDisk(server: number): Done;
    /** Asked for once: done when it was transferred, or refused. 0: to the best follower. */
    transfer(server: number): Done;
  };
  /** Processes beside those of servers, on the same directories. */
  readonly twins: {
    /** Done when it has ended. Nothing where the server's process does not live. */
    start(host: string): Done;
  };
  /** Which of two versions of the program servers run. */
  readonly versions: {
    /**
     * Stops the server and starts it as that version; done when it serves. Nothing where it is down, or of that version; nor where an older
     * one might meet what only the newer one knows.
     */
    change(host: string, version: Version): Done;
  };
  /** Processes that belong to nobody, at the ports of servers, which are meant by their numbers. */
  readonly strangers: {
    intrude(intrusion: Intrusion): Done;
    /**
     * Whenever the server does not run, until as many `leavePort` have come; then the server starts. Where it takes time: done when somebody
     * is there for the first time, or is not in time.
     */
    takePort(server: number): Done;
    leavePort(server: number): Done;
    replay(server: number): Done;
  };
}

export const VERSIONS = ['older', 'newer'] as const;
export type Version = (typeof VERSIONS)[number];

export type CapabilityName = keyof Capabilities;

export const TEARS = ['none', 'all', 'random'] as const;
type Tear = (typeof TEARS)[number];
type DialMode = 'normal' | 'refused' | 'hanging';
export const DISK_OPERATIONS = ['append', 'sync', 'read'] as const;
type DiskOperation = (typeof DISK_OPERATIONS)[number];
export const CLOCK_KINDS = ['monotonic', 'wall'] as const;
type ClockKind = (typeof CLOCK_KINDS)[number];
export const INTRUDER_PURPOSES = ['log', 'snapshot', 'expulsion'] as const;

export interface Intrusion {
  readonly server: number;
  readonly as: number;
  readonly purpose: (typeof INTRUDER_PURPOSES)[number];
  /** It speaks before it was welcomed. */
  readonly hasty: boolean;
}

export interface Target extends Partial<Capabilities> {
  /** How often each effect was seen since the run began; none for one that this target cannot see. */
  readonly struck: ReadonlyMap<Effect, number>;
  /**
   * Who a name stands for, as far as is known now: a host, `leader`, `holder:LOCK`. Undefined: nobody. Where it may be one of several, it is none
   * that is `taken`.
   */
  hostOf(name: string, taken?: readonly string[]): string | undefined;
  /** For so long a fault waits for a name that stands for nobody when it is to begin. @default 0: it strikes nobody */
  readonly patienceMs?: number;
  /** In the target's time, from now. */
  after(ms: number, action: () => void): void;
  /**
   * A fault begins, or has ended: the target writes it down, and, if it excuses anything, knows for how long nothing was wrong. `hosts`
   * are those that its names stand for.
   */
  faultBegins(kind: string, excuses: boolean, hosts: readonly string[]): void;
  faultEnded(kind: string, excuses: boolean, hosts: readonly string[]): void;
  /** What faults still hold is as without them, and every process that can start is started. */
  heal(): Done;
  /** A fault could not be begun or ended: the run's failure. */
  failed(error: unknown): void;
}

/** A target that has these capabilities. */
export type TargetWith<N extends CapabilityName> = Target & Pick<Capabilities, N>;

/** Those of these capabilities that the target lacks. */
export function lacking<N extends CapabilityName>(target: Target, needs: readonly N[]): N[] {
  return needs.filter((name) => target[name] === undefined);
}

/** Does the same to each, one begun after another, without a wait where none is needed. */
export function each<T>(list: readonly T[], act: (one: T) => Done): Done {
  const waits = list.map(act).filter((done) => done !== undefined);
  if (waits.length === 0) return undefined;
  return Promise.all(waits).then(() => {});
}
