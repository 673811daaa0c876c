/**
 * A kind of fault: its name and fields in a scenario, how one is drawn, what begins and ends it, what it needs of a target, and by which
 * effects it is known that it struck. The list of them (index.ts) is all that the rest of the harness knows about faults.
 */

import type { Random } from '@holdfast/runtime';
import type { Fields, ValuesOf } from '../plan/fields.ts';
import type { Plan } from '../plan/plan.ts';
import type { CapabilityName, Done, Effect, TargetWith } from './target.ts';

/** What all faults have. Times count from the beginning of the load; without `forMs` it is over at once. */
export interface FaultBase {
  readonly kind: string;
  readonly atMs: number;
  readonly forMs?: number;
}

type Flat<T> = { readonly [P in keyof T]: T[P] };

type FaultWith<K extends string, F extends Fields, L extends boolean> = Flat<
  { readonly kind: K; readonly atMs: number } & (L extends true ? { readonly forMs: number } : unknown) & ValuesOf<F>
>;

/** The faults of a nemesis. */
export type FaultOf<N> = N extends Nemesis<infer K, infer F, infer L, CapabilityName> ? FaultWith<K, F, L> : never;

declare const COMPANION: unique symbol;

/** A fault of another nemesis that is drawn together with one. */
export interface Companion extends FaultBase {
  readonly [COMPANION]: true;
}

/** What a fault is drawn from. Each of these that is called draws anew. */
export interface FaultDraw {
  readonly random: Random;
  readonly plan: Plan;
  readonly servers: readonly string[];
  readonly clients: readonly string[];
  /** When this one is to strike, and for how long if it lasts. */
  readonly lasting: { readonly atMs: number; readonly forMs: number };
  /** Whom it is to strike: a server, and that one or a client. */
  readonly server: string;
  readonly host: string;
  /** Those that were drawn before. */
  readonly drawn: readonly FaultBase[];
  /** Any of them, whoever leads, or whoever holds a lock. */
  readonly anyServer: () => string;
  readonly anyClient: () => string;
  /** A server and another host, in either order. */
  readonly anyLink: () => [string, string];
}

export interface Nemesis<
  K extends string = string,
  F extends Fields = Fields,
  L extends boolean = boolean,
  N extends CapabilityName = CapabilityName,
> {
  readonly kind: K;
  /** It ends after `forMs`; otherwise at once, or by itself. */
  readonly lasts: L;
  /** In a scenario, beside `kind`, `atMs` and, if it lasts, `forMs`. */
  readonly fields: F;
  readonly needs: readonly N[];
  /** It is in the mixture of one scenario in so many. @default in none: `scenario/draw` draws it together with what it belongs to */
  readonly oneIn?: number;
  /**
   * It is drawn after the mixture, from a stream of its own: added to the list, it shifts no draw of another. The first ones share a
   * stream, so that their seeds stay what they are.
   */
  readonly ownStream?: true;
  /** False: nothing is wrong for it. A promise that holds only while nothing is wrong holds beside it, too. @default true */
  readonly excuses?: false;
  /** Its times count from before the servers start: at 0 it strikes a server that has not started yet. @default from when they start */
  readonly beforeServers?: true;
  /** It belongs to no outage: when everything heals, what was drawn for later still begins. @default nothing begins any more */
  readonly goesOnWhenHealed?: true;
  /** By which it is known that it struck: none of them may be missing in a campaign. */
  readonly strikes: readonly Effect[];
  /** So rare that a campaign may miss them. */
  readonly strikesSeldom?: readonly Effect[];
  /** With `oneIn` only. None, when it has no place in what was drawn so far. */
  draw?(draw: FaultDraw): readonly (FaultWith<K, F, L> | Companion)[];
  /** Whether it can strike, now that the hosts are known that its names stand for. @default always */
  possible?(fault: FaultWith<K, F, L>): boolean;
  begin(fault: FaultWith<K, F, L>, target: TargetWith<N>): Done;
  /** @default nothing is left to end */
  end?(fault: FaultWith<K, F, L>, target: TargetWith<N>): Done;
}

/** Lets the compiler find the types out. */
export function nemesis<const K extends string, F extends Fields, const L extends boolean, N extends CapabilityName>(
  definition: Nemesis<K, F, L, N>,
): Nemesis<K, F, L, N> {
  return definition;
}

/** A fault of `_of`, drawn together with one of another nemesis. */
export function companion<K extends string, F extends Fields, L extends boolean, N extends CapabilityName>(
  _of: Nemesis<K, F, L, N>,
  fault: FaultWith<K, F, L>,
): Companion {
  return fault as unknown as Companion;
}

/** For a fault from one host to another: from a host to itself there is nothing to strike. */
export function isBetweenTwo({ from, to }: { readonly from: string; readonly to: string }): boolean {
  return from !== to;
}
