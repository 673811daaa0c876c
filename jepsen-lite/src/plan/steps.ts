/** What operators and strangers do in a run: each kind of step with its fields, from which its type and its place in a file follow. */

import { boolean, integer, number, choice, positive, positiveOr, type Fields, type ValuesOf } from './fields.ts';

/** Whoever leads when the step, or the fault, begins. */
export const LEADER = 'leader';

/**
 * What operators do about the members. The cluster begins with the servers 1 to `servers`; those that are added have higher numbers,
 * each on a host of its own. What cannot be done then (nobody leads, or the rest could not decide any more) is left out.
 */
export const MEMBER_STEPS = {
  /** Started to join `startAfterMs` after it was asked for. */
  add: { server: positive, observer: boolean, startAfterMs: number },
  promote: { server: positive },
  remove: { server: positiveOr(LEADER) },
  /** Its disk is replaced by an empty one, as soon as everybody knows what was on the first; it starts again as before. */
  'lose-disk': { server: positive },
} as const satisfies Readonly<Record<string, Fields>>;

/** What strangers do: processes that belong to nobody, at the peer ports and at those for clients. */
export const STRANGER_STEPS = {
  /** Somebody dials a server as another one, and proves a data directory that is made up. `hasty`: it does not wait for its welcome. */
  intrude: { server: positive, as: integer, purpose: choice(['log', 'snapshot', 'expulsion']), hasty: boolean },
  /** Somebody is at a server's peer address whenever the server does not run. From time 0: the server starts only afterwards. */
  usurp: { forMs: number, server: positive },
  /** A client with a session of its own sends what was answered again, copies of what is under way, and requests without a number. */
  replay: { server: positive },
} as const satisfies Readonly<Record<string, Fields>>;

type Flat<T> = { readonly [P in keyof T]: T[P] };

/** One of these kinds of steps. Times count from the beginning of the load. */
type StepOf<S extends Readonly<Record<string, Fields>>> = {
  readonly [K in keyof S]: Flat<{ readonly kind: K; readonly atMs: number } & ValuesOf<S[K]>>;
}[keyof S];

export type MemberStep = StepOf<typeof MEMBER_STEPS>;
export type StrangerStep = StepOf<typeof STRANGER_STEPS>;
