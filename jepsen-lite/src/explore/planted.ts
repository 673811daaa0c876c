/** Planted bugs that the explorer must find, and the bounds within which it does. */

import { MUTANTS } from '../mutants/catalogue/index.ts';
import type { Mutant } from '../mutants/mutant.ts';
import { boundsOf, type Bounds } from './bounds.ts';

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
  { mutant: 'pre-votes-counted-as-votes', bounds: 'pre-votes', sample: true },
  { mutant: 'vote-not-persisted', bounds: 'crashes', sample: true },
  { mutant: 'vote-told-before-durable', bounds: 'crashes', sample: true },
  { mutant: 'acknowledgement-before-durable-write', bounds: 'crashes', sample: true },
  { mutant: 'leader-counts-itself-before-durable-write', bounds: 'crashes', sample: true },
  { mutant: 'read-without-a-quorum-round', bounds: 'reads', sample: true },
  { mutant: 'read-before-an-entry-of-the-own-term', bounds: 'reads', sample: true },
  { mutant: 'new-voters-alone-decide', bounds: 'removals-of-two', sample: true },
  { mutant: 'learners-count', bounds: 'additions', sample: true },
  { mutant: 'figure-8', bounds: 'old-terms', sample: false },
];

/** @throws RangeError when there is none of that name */
export function mutantOf(name: string): Mutant {
  const mutant = MUTANTS.find((candidate) => candidate.name === name);
  if (mutant === undefined) throw new RangeError(`there is no planted bug "${name}"`);
  return mutant;
}

export function plantedPairs(
  some: readonly Planted[],
): readonly { readonly mutant: Mutant; readonly bounds: Bounds }[] {
  return some.map(({ mutant, bounds }) => ({ mutant: mutantOf(mutant), bounds: boundsOf(bounds) }));
}
