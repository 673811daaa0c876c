/** A session of the random world, as its servers and its client have it, and the calls of that client. */

import type { HistoryEventBody, Operation } from '../../../src/history/history.ts';

export interface Waiter {
  readonly session: Session;
  readonly lock: string;
  readonly hold: number;
  readonly call: number;
  token: number;
}

export interface Session {
  readonly id: number;
  readonly process: string;
  /** At the servers. */
  ended: boolean;
  lastSignMs: number;
  /** At the client. */
  over: boolean;
  renewedMs: number;
  /** One call at a time. */
  busy: boolean;
  held: Held | undefined;
}

interface Held {
  readonly waiter: Waiter;
  fenced: boolean;
  read: string | null | undefined;
}

/** Calls of the sessions, each with steps that come between others. */
export interface Calls {
  /** A number below the bound, by the seed of the history. */
  choose(bound: number): number;
  /** Tells that it begins. */
  invoke(session: Session, operation: Operation): number;
  /** Tells how it has ended. */
  complete(session: Session, body: HistoryEventBody): void;
  /** The step comes behind some that are under way. */
  later(step: () => void): void;
}
