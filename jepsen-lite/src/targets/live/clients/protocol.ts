/**
 * What the harness and a client process say to each other: an order as the first argument, orders later as lines of JSON on standard
 * input, and what the client has to tell as lines of JSON on a pipe of its own. A line is written before the client goes on, so that a
 * kill takes nothing along that has happened.
 */

import type { HistoryEventBody } from '../../../history/history.ts';
import type { ClientPlan } from '../../../plan/plan.ts';

/** The file descriptor of what a client tells. */
export const REPORT_FD = 3;

export interface ClientOrder {
  readonly plan: ClientPlan;
  readonly seed: number;
  readonly locks: number;
  /** Of this host, from 1. */
  readonly boot: number;
  /** Calls of this process have numbers above it. */
  readonly callsAbove: number;
  readonly servers: readonly string[];
  readonly store: string;
  /** Host and port of each replica; none: there are none. */
  readonly replicas: readonly string[];
  /** The beginning of the run, in nanoseconds of the machine's monotonic clock. */
  readonly originNs: string;
}

export const CLIENT_COMMANDS = ['healed', 'stop'] as const;
/** `healed`: no fault is left. `stop`: nothing new is begun. */
export type ClientCommand = (typeof CLIENT_COMMANDS)[number];

/** Where servers may be found from now on: a line of JSON among the commands. */
export interface ClientServers {
  readonly servers: readonly string[];
}

export type ClientReport =
  /** When it happened, in nanoseconds of the machine's monotonic clock: as text, since they don't fit in a number. */
  | { readonly at: string; readonly process: string; readonly event: HistoryEventBody }
  | { readonly rounds: number | null; readonly idle: boolean }
  | { readonly unexpected: string };
