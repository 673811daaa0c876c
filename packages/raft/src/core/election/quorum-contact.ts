/**
 * Whom a leader hears. One that has heard no quorum for an election timeout leads no longer (thesis 6.2): it can commit nothing, and
 * its clients should look elsewhere. A follower counts as heard when it has answered in this term, or voted for it, within an election
 * timeout; time is counted in clamped steps, so that a late event loop makes nobody silent.
 */

import { heldByQuorums, reachedByQuorums } from '../quorum/active-quorums.ts';
import type { CoreState } from '../core-state.ts';
import type { Leader } from '../roles/leader.ts';
import type { ServerId } from '../types.ts';

/** Whether it leads since a moment ago: whom it has not heard yet may not have had the time to answer. */
export function isNewLeader({ config, countedMs }: CoreState, { sinceMs }: Leader): boolean {
  return countedMs - sinceMs < 2 * config.heartbeatMs;
}

/**
 * Whether nothing can be committed without this voter: of the others too few are heard and have been sent all that is committed. What
 * it lacks is then what everybody waits for.
 */
export function isNeeded(core: CoreState, leader: Leader, peer: ServerId): boolean {
  const carries = (voter: ServerId): boolean => {
    if (voter === core.config.id) return true;
    const progress = leader.progress.get(voter);
    if (voter === peer || progress === undefined) return false;
    return progress.isAlive(core.countedMs) && progress.mode === 'replicate' && progress.next > core.commit;
  };
  return core.membership.electorate.includes(peer) && !heldByQuorums(core.membership.voterSets, carries);
}

/** Whether the quorum has to be counted again. By itself, since it is asked in every step and must allocate nothing. */
export function quorumIsDue(core: CoreState, leader: Leader): boolean {
  // By the same sum as the deadline: with another one a residue of rounding would make a deadline at which nothing is due, for ever.
  return quorumSilenceDueMs(core, leader) <= 0;
}

/** Counts again only when what the last count found is too old: once an election timeout, as long as a quorum answers. */
export function hearsQuorum(core: CoreState, leader: Leader): boolean {
  if (!quorumIsDue(core, leader)) return true;
  leader.quorumHeardMs = reachedByQuorums(core.membership.voterSets, (voter) =>
    voter === core.config.id ? core.countedMs : (leader.progress.get(voter)?.heardMs ?? -Infinity),
  );
  return !quorumIsDue(core, leader);
}

/** Milliseconds until the quorum has to be counted again. */
export function quorumSilenceDueMs(core: CoreState, leader: Leader): number {
  return leader.quorumHeardMs + core.config.electionTimeoutMs - core.countedMs;
}
