/** Planted bugs that the explorer must find, and the bounds within which it does. */

import { MUTANTS } from '../mutants/catalogue/index.ts';
import { boundsOf, type Bounds } from './bounds.ts';
import type { PlantedBug } from './server/opened-core.ts';

/** Those that no other detector has been seen to notice. */
const EXPLORED: readonly PlantedBug[] = [
  {
    name: 'vote-ban-lifted-by-any-leader',
    breaks:
      'a server that has lost what it acknowledged votes again when its log holds all that was committed, not before',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'core/election/vote-ban.js',
        edits: [
          {
            find: 'if ((core.log.termAt(core.commit) ?? 0) < core.voteBan)',
            replace: 'if (core.leader === NO_SERVER)',
          },
        ],
      },
    ],
  },
  {
    name: 'vote-ban-lifted-before-the-log-is-durable',
    breaks: 'a server that has lost what it acknowledged votes again when its log holds on disk all that was committed',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'core/election/vote-ban.js',
        edits: [{ find: '|| core.writes.stableIndex < core.commit', replace: '' }],
      },
    ],
  },
  {
    name: 'vote-ban-without-its-term',
    breaks: 'a server that has lost what it acknowledged follows no leader that may count on it',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'core/election/vote-ban.js',
        edits: [{ find: 'if (core.voteBan !== undefined && core.term < core.voteBan)', replace: 'if (false)' }],
      },
    ],
  },
];

export interface Planted {
  readonly mutant: string;
  readonly bounds: string;
  /** Found within seconds: for every commit. */
  readonly sample: boolean;
}

export const PLANTED: readonly Planted[] = [
  { mutant: 'quorum-off-by-one', bounds: 'elections', sample: true },
  { mutant: 'two-votes-in-a-term', bounds: 'elections', sample: true },
  { mutant: 'no-log-comparison-in-elections', bounds: 'elections', sample: true },
  { mutant: 'commit-by-one-too-few', bounds: 'elections', sample: true },
  { mutant: 'truncation-on-any-append', bounds: 'repeats', sample: true },
  { mutant: 'pre-votes-counted-as-votes', bounds: 'pre-votes', sample: true },
  { mutant: 'vote-not-persisted', bounds: 'crashes', sample: true },
  { mutant: 'vote-sent-before-durable', bounds: 'crashes', sample: true },
  { mutant: 'acknowledgement-before-durable-write', bounds: 'crashes', sample: true },
  { mutant: 'leader-counts-itself-before-durable-write', bounds: 'crashes', sample: true },
  { mutant: 'read-without-a-quorum-round', bounds: 'reads', sample: true },
  { mutant: 'read-before-an-entry-of-the-own-term', bounds: 'reads', sample: true },
  { mutant: 'new-voters-alone-decide', bounds: 'removals-of-two', sample: true },
  { mutant: 'learners-count', bounds: 'additions', sample: true },
  { mutant: 'removed-leader-goes-on', bounds: 'departures', sample: true },
  { mutant: 'vote-ban-ignored', bounds: 'damages', sample: true },
  { mutant: 'vote-ban-without-its-term', bounds: 'damages', sample: true },
  { mutant: 'vote-ban-lifted-before-the-log-is-durable', bounds: 'damages-of-slow-disks', sample: true },
  { mutant: 'vote-ban-lifted-by-any-leader', bounds: 'lifted-bans', sample: false },
  { mutant: 'log-comparison-by-length-alone', bounds: 'old-terms', sample: false },
  { mutant: 'append-without-a-look-at-the-entry-before', bounds: 'three-leaders', sample: false },
  { mutant: 'figure-8', bounds: 'old-terms', sample: false },
];

/** @throws RangeError when there is none of that name */
export function mutantOf(name: string): PlantedBug {
  const mutant = [...MUTANTS, ...EXPLORED].find((candidate) => candidate.name === name);
  if (mutant === undefined) throw new RangeError(`there is no planted bug "${name}"`);
  return mutant;
}

export function plantedPairs(
  some: readonly Planted[],
): readonly { readonly mutant: PlantedBug; readonly bounds: Bounds }[] {
  return some.map(({ mutant, bounds }) => ({ mutant: mutantOf(mutant), bounds: boundsOf(bounds) }));
}
