/**
 * Who should lead next, wherever a leader chooses: because it transfers leadership, because its disk hangs, or because it was removed.
 * One rule: a voter of the configuration that is in force, or comes into force, that is alive; of those the one with the longest
 * acknowledged log, since it has to catch up least before it may stand, and wins against every other; of equals the lowest id, so that
 * every run decides alike.
 */

import type { CoreState } from '../core-state.ts';
import type { Leader } from '../roles/leader.ts';
import { NO_SERVER, type ServerId } from '../types.ts';

/** NO_SERVER when no other voter is alive. */
export function bestSuccessor(core: CoreState, leader: Leader): ServerId {
  let best = NO_SERVER;
  let bestMatch = -1;
  for (const peer of core.membership.electorate) {
    const progress = leader.progress.get(peer);
    if (!mayLeadNext(core, peer) || progress?.isAlive(core.countedMs) !== true || progress.match <= bestMatch) continue;
    best = peer;
    bestMatch = progress.match;
  }
  return best;
}

/** Whether it votes, and is not about to be removed. */
export function mayLeadNext({ membership }: CoreState, peer: ServerId): boolean {
  return membership.voterSets[0]?.includes(peer) === true;
}
