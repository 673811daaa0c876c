/**
 * Linearizable reads by ReadIndex (thesis 6.4): remember the commit index, confirm by a heartbeat round that began afterwards that
 * no newer leader exists, and read once that index is applied. One round at a time; what is asked meanwhile shares the next.
 *
 *     leader     round 1 ──────────────── a read is asked, round 2 ────────────── confirmed by round 2
 *     follower            answer to 1 ──────────────────▶       answer to 2 ────▶
 *
 * The answer to round 1 comes after the read was asked, and was sent before: another leader may have been elected in between. So answers
 * carry the number of their round, and a read counts only those to the round that began behind it.
 */

import { reachedByQuorums } from '../quorum/active-quorums.ts';
import type { CoreState } from '../core-state.ts';
import { progressOf } from '../replication/followers.ts';
import type { Leader } from '../roles/leader.ts';
import { hearFollower, leaderOf } from '../replication/follower-answers.ts';
import { retryUnacknowledged } from '../replication/replication.ts';
import { maxIndex, minIndex, type MessageOf, type ServerId } from '../types.ts';

export function onReadIndex(core: CoreState, ticket: number): void {
  if (core.role.type !== 'leader') {
    core.effect({ type: 'read-rejected', tickets: [ticket], reason: 'not-leader' });
    return;
  }
  const { pendingTickets } = core.role;
  if (pendingTickets.length < core.config.maxPendingReads) pendingTickets.push(ticket);
  else core.effect({ type: 'read-rejected', tickets: [ticket], reason: 'overloaded' });
}

/**
 * At the end of a group. A new leader has every committed entry, but may not know that it is committed until one of its own term is: a
 * read at its commit index could miss a write that its predecessor had confirmed.
 */
export function startReadRound(core: CoreState, leader: Leader): void {
  if (leader.pendingTickets.length === 0 || leader.readRounds.length > 0 || !core.ownTermCommitted(leader)) return;
  const tickets = leader.pendingTickets;
  leader.pendingTickets = [];
  core.round += 1;
  leader.readRounds.push({ round: core.round, index: core.commit, tickets });
  sendHeartbeats(core, leader);
  confirmReads(core, leader);
}

/** Each broadcast has a round of its own, so that a late answer to an older one confirms nothing that was asked after it. */
export function broadcastHeartbeat(core: CoreState, leader: Leader): void {
  core.round += 1;
  sendHeartbeats(core, leader);
}

export function onHeartbeatResponse(core: CoreState, from: ServerId, message: MessageOf<'heartbeat-response'>): void {
  const leader = leaderOf(core, message.term);
  if (leader === undefined) return;
  const progress = hearFollower(core, leader, from);
  progress.eagerCommit = message.eagerCommit;
  retryUnacknowledged(core, from, progress);
  if (message.round > progress.round) progress.round = message.round;
  confirmReads(core, leader);
}

function sendHeartbeats(core: CoreState, leader: Leader): void {
  leader.heartbeatElapsedMs = 0;
  for (const peer of core.membership.peers) {
    const progress = progressOf(leader, peer);
    if (!progress.connected) continue;
    const commit = minIndex(progress.match, core.commit);
    progress.sentCommit = maxIndex(progress.sentCommit, commit);
    core.send(peer, { type: 'heartbeat', term: core.term, commit, round: core.round });
  }
}

export function confirmReads(core: CoreState, leader: Leader): void {
  if (leader.readRounds.length === 0) return;
  const confirmed = reachedByQuorums(core.membership.voterSets, (voter) =>
    voter === core.config.id ? core.round : progressOf(leader, voter).round,
  );
  while ((leader.readRounds[0]?.round ?? Infinity) <= confirmed) {
    const read = leader.readRounds.shift();
    if (read !== undefined) core.effect({ type: 'read-ready', tickets: read.tickets, index: read.index });
  }
}
