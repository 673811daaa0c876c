/**
 * What a detour, a proxy and the harness say to each other. All of it is lines of JSON: a dial has a connection of its own, on which the
 * proxy answers what came of it; then the detoured connection joins what the proxy has dialled, and begins with a line that says so.
 */

import type { Effect } from '../../../../nemeses/target.ts';
import type { Delay } from '../../../../plan/fields.ts';
import type { Pair } from '../live-network.ts';
import type { DialMode } from './link.ts';

/** The environment variable of a program whose dials take a detour: a {@link DetourTable} as JSON. */
export const DETOUR_VARIABLE = 'HOLDFAST_DETOUR';

export interface DetourTable {
  /** The host that the program is on. */
  readonly from: string;
  readonly proxy: { readonly host: string; readonly port: number };
  /** Whose the addresses are, as `host:port`; what is dialled elsewhere takes no detour. */
  readonly hosts: Readonly<Record<string, string>>;
}

/** The first line of a connection to a proxy. */
export type Opening =
  /** Under this ticket the detoured connection will join. */
  | { readonly dial: string; readonly from: string; readonly to: string; readonly host: string; readonly port: number }
  | { readonly join: string };

export interface DialAnswer {
  /** The code of what the dial has failed with; undefined: it was accepted. */
  readonly code?: string;
}

/** A line to the proxy's process, with a number that its answer repeats. */
export type ProxyCommand =
  | { readonly act: 'cut' | 'mend'; readonly pairs: readonly Pair[] }
  | { readonly act: 'clog'; readonly from: string; readonly to: string; readonly forMs: number }
  | { readonly act: 'limit'; readonly from: string; readonly to: string; readonly bytesPerSecond: number | undefined }
  | { readonly act: 'slow'; readonly latency: Delay | undefined }
  | { readonly act: 'break'; readonly chance: number }
  | { readonly act: 'drop'; readonly share: number }
  | { readonly act: 'dials'; readonly mode: DialMode; readonly from: string; readonly to: string }
  | { readonly act: 'reset'; readonly one: string; readonly other: string }
  | { readonly act: 'heal' };

/** A line of the proxy's process: where it listens, or what has struck so far, and which command that answers, if any. */
export type ProxyReport =
  | { readonly port: number }
  | { readonly struck: readonly (readonly [Effect, number])[]; readonly done?: number };
