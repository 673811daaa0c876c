/**
 * The decisions on which safety rests, each a pure function with its reason. The core asks them through one table, so that a test can
 * put a wrong one in its place and see that it is noticed.
 */

import type { Configuration, Epoch, ReplicaId } from './types.ts';

export interface Rules {
  /** The in-sync set with which `self` may claim the group, or undefined when it may not. */
  claim(configuration: Configuration, self: ReplicaId): readonly ReplicaId[] | undefined;
  /** The replicas that must have an entry before it is acknowledged. */
  inForce(current: Configuration, pending: Configuration | undefined): readonly ReplicaId[];
  /** The highest index that the replicas have. */
  committed(inForce: readonly ReplicaId[], matchOf: (replica: ReplicaId) => number): number;
  /** Whether a primary may answer its clients. */
  serves(inForce: readonly ReplicaId[], matchOf: (replica: ReplicaId) => number, barrier: number): boolean;
  /** Whether a replica that has the primary's log up to `match` may join the in-sync set. */
  joins(match: number, commit: number, barrier: number): boolean;
  /** Whether a replica takes entries of `epoch`. */
  accepts(installed: Epoch, epoch: Epoch): boolean;
  /** Whether a replica drops all that it has for copy `copy`; the last one of this epoch was `own`, 0 for none. */
  begins(copy: number, own: number): boolean;
  /** Whether a read that was asked in `round` may be answered. */
  confirmed(inForce: readonly ReplicaId[], roundOf: (replica: ReplicaId) => number, round: number): boolean;
}

export const RULES: Rules = {
  /**
   * Only a member of the set has every acknowledged entry. The set stays as it is: so this one and the next have the claimant in
   * common, and it refuses the primary before it. Who does not answer is removed later, by the new primary.
   */
  claim({ inSync }, self) {
    return inSync.includes(self) ? inSync : undefined;
  },

  /**
   * A configuration write without an answer may be made or not. Both sets count until the node tells. Without the new set, a replica
   * that joins could miss an entry; without the old one, a replica that is not removed could.
   */
  inForce(current, pending) {
    return pending === undefined ? current.inSync : [...new Set([...current.inSync, ...pending.inSync])];
  },

  /** Any of them may be the next primary, so what one of them lacks is not acknowledged. */
  committed(inForce, matchOf) {
    return Math.min(...inForce.map((replica) => matchOf(replica)));
  },

  /**
   * A new primary may have entries that others lack. They are neither acknowledged nor lost. If a client could see one before all have
   * it, the next primary might not have it.
   */
  serves(inForce, matchOf, barrier) {
    return inForce.every((replica) => matchOf(replica) >= barrier);
  },

  /** From the write that adds it on, every acknowledgement waits for it: so all that it needs is what was acknowledged before. */
  joins(match, commit, barrier) {
    return match >= commit && match >= barrier;
  },

  /** A lower epoch is of a former primary. A higher one must be installed first. */
  accepts(installed, epoch) {
    return installed === epoch;
  },

  /** One that comes late, or twice, would drop what the replica has been counted on for since. */
  begins(copy, own) {
    return copy > own;
  },

  /**
   * The next primary is one of them, and installs its epoch at itself before it claims the group. If none had done so after the read
   * was asked, nobody had served in a higher epoch before it was asked.
   */
  confirmed(inForce, roundOf, round) {
    return inForce.every((replica) => roundOf(replica) >= round);
  },
};
