/**
 * Decisions by the configuration in force: a majority of each of its sets of voters, two while it is joint. Learners and observers
 * are in none, and a leader that is being removed does not count itself where it is not in the set.
 *
 * While a configuration is joint, agreement takes a majority of the old voters and, apart from it, one of the new (thesis 4.3):
 *
 *     old   1 2 3          1, 4 and 5 are three of the five new voters, but one of the three old ones. Did they decide, 2 and 3, which
 *     new   1 2 3 4 5      may not know of the new configuration, could decide otherwise in the same term. 1, 2 and 4 may decide.
 */

import { quorumSize, quorumValue } from './quorum.ts';
import type { ServerId } from '../types.ts';

export type VoterSets = readonly (readonly ServerId[])[];

/** The largest value that a majority of every set has reached. */
export function reachedByQuorums(sets: VoterSets, valueOf: (voter: ServerId) => number): number {
  let reached = Infinity;
  for (let at = 0; at < sets.length; at += 1) reached = Math.min(reached, quorumValue(sets[at] ?? [], valueOf));
  return reached === Infinity ? 0 : reached;
}

export function heldByQuorums(sets: VoterSets, holds: (voter: ServerId) => boolean): boolean {
  for (const voters of sets) {
    let count = 0;
    for (const voter of voters) if (holds(voter)) count += 1;
    // Without voters nothing is ever decided.
    if (count < quorumSize(voters.length)) return false;
  }
  return sets.length > 0;
}
