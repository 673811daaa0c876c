/**
 * The commit rule of a leader (thesis 3.5, 3.6.2): an entry of the own term is committed when a majority of every set of voters has it
 * durably, and with it everything before it. Counting is in quorum.ts and active-quorums.ts.
 */

import { reachedByQuorums } from '../quorum/active-quorums.ts';
import type { CoreState } from '../core-state.ts';
import { progressOf } from './followers.ts';
import { invariant } from '../invariant.ts';
import type { Leader } from '../roles/leader.ts';
import {
  NO_SERVER,
  entryBytes,
  logIndex,
  maxIndex,
  nextIndex,
  takesLong,
  type Entry,
  type LogIndex,
  type ServerId,
  type WriteSeq,
} from '../types.ts';

/**
 * Up to where a majority of every set of voters would have the log durably, had this server it up to `own` and, when given, `peer` up
 * to `match`.
 */
export function majorityIndex(
  core: CoreState,
  leader: Leader,
  own: LogIndex,
  peer = NO_SERVER,
  match = logIndex(0),
): LogIndex {
  const durable = (voter: ServerId): LogIndex => {
    if (voter === core.config.id) return own;
    const known = progressOf(leader, voter).match;
    return voter === peer ? maxIndex(known, match) : known;
  };
  return logIndex(reachedByQuorums(core.membership.voterSets, durable));
}

/**
 * Only entries of the own term commit by counting, and with them all before: one of an older term that a majority has may still be
 * replaced. Figure 8 of the paper, with the index on top and each server's terms below:
 *
 *         1 2 3          S1 led term 2 and had sent entry 2 to S2 alone when it failed. S5 was elected in term 3 by S3 and S4,
 *     S1  1 2 4          appended its own entry 2, and failed too. S1 leads again, in term 4, and sends its entry 2 to S3: three
 *     S2  1 2            of five have it. Were it committed by that count, S5 could still be elected, in term 5, by S2, S3 and
 *     S3  1 2            S4, since its last term, 3, is above theirs, and would replace it everywhere. Once entry 3 of term 4
 *     S4  1              is on three servers S5 can't win any more: that commits entry 2 as well.
 *     S5  1 3
 */
export function advanceLeaderCommit(core: CoreState, leader: Leader): void {
  const index = majorityIndex(core, leader, core.writes.stableIndex);
  if (index <= core.commit || core.log.termAt(index) !== core.term) return;
  for (const entry of proposalsUpTo(core, leader, index)) {
    leader.uncommittedBytes -= entryBytes(entry);
    if (takesLong(entry)) leader.longCommit = index;
  }
  core.advanceCommit(index);
}

/** A write is durable: the leader's own disk is one more follower. */
export function onPersisted(core: CoreState): void {
  if (core.role.type === 'leader') advanceLeaderCommit(core, core.role);
}

/** Whether {@link onPersisted} would commit nothing. A candidate may wait for its own vote, which is counted with the write. */
export function writeCanWait(core: CoreState, seq: WriteSeq): boolean {
  switch (core.role.type) {
    case 'leader':
      return majorityIndex(core, core.role, core.writes.stableIndexAfter(seq)) <= core.commit;
    case 'candidate':
      return false;
    case 'follower':
    case 'pre-candidate':
      return true;
  }
}

/** This leadership's proposals that a commit `upTo` covers; all of them are in memory, since none was applied. */
function proposalsUpTo(core: CoreState, { noopIndex }: Leader, upTo: LogIndex): readonly Entry[] {
  const entries = core.log.slice(nextIndex(maxIndex(core.commit, noopIndex)), upTo, Infinity);
  invariant(entries !== undefined, 'entries-that-are-not-committed-are-in-memory');
  return entries;
}
