/** Within which bounds worlds are explored: how many servers, what may happen, and how often. */

import type { ServerRules } from './server/server.ts';

/** What may happen only so often in one world. Writes that end and messages that arrive or get lost are not counted. */
export const COUNTED = [
  'stands',
  'crashes',
  'damages',
  'proposals',
  'reads',
  'beats',
  'reconnects',
  'duplicates',
  /** Of others by the leader, and of the leader itself. */
  'removals',
  'departures',
  'additions',
  'transfers',
  'snapshots',
] as const;
export type Counted = (typeof COUNTED)[number];

export interface Bounds extends ServerRules {
  readonly name: string;
  /** Under way at once; of more the others are lost, whichever. Equal messages count once. */
  readonly messages: number;
  /** @default 0 each */
  readonly most: Readonly<Partial<Record<Counted, number>>>;
  /**
   * Worlds that differ only in who is who are not one: a leader that is removed asks the best of the others to stand, and of those that
   * are equally good the one with the lowest id. An exploration ends with an error where this is needed and not said.
   */
  readonly asymmetric?: true;
  /** Explored within seconds, all of it: for every commit. */
  readonly sample?: true;
}

const THREE = {
  voters: 3,
  spares: 0,
  slowDisk: false,
  preVote: false,
  maxInflightMessages: 1,
} as const satisfies ServerRules;
const TWO = { ...THREE, voters: 2 } as const;
const FOUR = { ...THREE, voters: 4 } as const;

export const BOUNDS: readonly Bounds[] = [
  { ...THREE, name: 'elections', messages: 3, most: { stands: 2 }, sample: true },
  { ...THREE, name: 'pre-votes', preVote: true, messages: 3, most: { stands: 2 }, sample: true },
  { ...THREE, name: 'commands', messages: 2, most: { stands: 2, proposals: 1 }, sample: true },
  { ...THREE, name: 'repeats', messages: 2, most: { stands: 2, duplicates: 1 }, sample: true },
  { ...THREE, name: 'reads', messages: 2, most: { stands: 2, reads: 1 }, sample: true },
  { ...THREE, name: 'crashes', slowDisk: true, messages: 2, most: { stands: 2, crashes: 1 }, sample: true },
  { ...THREE, name: 'transfers', messages: 2, most: { stands: 1, proposals: 1, transfers: 1 }, sample: true },
  { ...THREE, name: 'removals', messages: 2, most: { stands: 2, removals: 1 }, sample: true },
  { ...TWO, name: 'removals-of-two', messages: 3, most: { stands: 2, proposals: 1, removals: 1 }, sample: true },
  { ...TWO, name: 'additions', spares: 1, messages: 2, most: { stands: 2, additions: 1 }, sample: true },
  { ...THREE, name: 'damages', messages: 2, most: { stands: 2, damages: 1 }, sample: true },
  {
    ...THREE,
    name: 'damages-of-slow-disks',
    slowDisk: true,
    messages: 2,
    most: { stands: 2, damages: 1 },
    sample: true,
  },
  { ...THREE, name: 'lifted-bans', messages: 2, most: { stands: 3, damages: 1 } },
  { ...THREE, name: 'departures', asymmetric: true, messages: 2, most: { stands: 2, departures: 1 }, sample: true },
  { ...THREE, name: 'snapshots', messages: 2, most: { stands: 2, proposals: 1, snapshots: 1 } },
  { ...THREE, name: 'reconnections', messages: 2, most: { stands: 2, proposals: 1, reconnects: 1 } },
  { ...THREE, name: 'heartbeats', messages: 2, most: { stands: 2, beats: 2 } },
  { ...THREE, name: 'old-terms', messages: 2, most: { stands: 4 } },
  { ...THREE, name: 'three-leaders', messages: 3, most: { stands: 3, proposals: 1 } },
  { ...THREE, name: 'slow-disks', slowDisk: true, messages: 3, most: { stands: 2, proposals: 1, crashes: 1 } },
  { ...THREE, name: 'stale-reads', messages: 3, most: { stands: 3, reads: 2 } },
  {
    ...THREE,
    name: 'changes',
    spares: 1,
    asymmetric: true,
    messages: 2,
    most: { stands: 2, removals: 1, additions: 1 },
  },
  { ...FOUR, name: 'removals-of-four', asymmetric: true, messages: 3, most: { stands: 2, removals: 2 } },
  { ...THREE, name: 'five-servers', voters: 5, messages: 3, most: { stands: 2 } },
];

/** @throws RangeError when there are none of that name */
export function boundsOf(name: string): Bounds {
  const bounds = BOUNDS.find((candidate) => candidate.name === name);
  if (bounds === undefined) throw new RangeError(`there are no bounds "${name}"`);
  return bounds;
}
