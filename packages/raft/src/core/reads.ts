/**
 * Linearizable reads by ReadIndex (thesis 6.4): remember the commit index, confirm by a heartbeat round that began afterwards that
 * no newer leader exists, and read once that index is applied. One round at a time; what is asked meanwhile shares the next.
 */

import { reachedByQuorums } from './active-quorums.ts';
import type { CoreState } from './core-state.ts';
import { progressOf } from './followers.ts';
import { hearFollower, retryUnanswered } from './replication.ts';
import { maxIndex, minIndex, type Message, type ServerId } from './types.ts';

type Of<T extends Message['type']> = Extract<Message, { type: T }>;

export function onReadIndex(core: CoreState, ticket: number): void {
  const reason =
    core.role !== 'leader'
      ? 'not-leader'
      : core.pendingTickets.length >= core.config.maxPendingReads
        ? 'overloaded'
        : undefined;
  if (reason !== undefined) core.effect({ type: 'read-rejected', tickets: [ticket], reason });
  else core.pendingTickets.push(ticket);
}

/** At the end of a group. Before an entry of its own term is committed a leader may not know all that was committed before it. */
export function startReadRound(core: CoreState): void {
  if (core.pendingTickets.length === 0 || core.readRounds.length > 0 || !core.ownTermCommitted) return;
  const tickets = core.pendingTickets;
  core.pendingTickets = [];
  core.round += 1;
  core.readRounds.push({ round: core.round, index: core.commit, tickets });
  sendHeartbeats(core);
  confirmReads(core);
}

/** Each broadcast has a round of its own, so that a late answer to an older one confirms nothing that was asked after it. */
export function broadcastHeartbeat(core: CoreState): void {
  core.round += 1;
  sendHeartbeats(core);
}

export function onHeartbeatResponse(core: CoreState, from: ServerId, message: Of<'heartbeat-response'>): void {
  const progress = hearFollower(core, from, message.term);
  if (progress === undefined) return;
  progress.eagerCommit = message.eagerCommit;
  retryUnanswered(core, from, progress);
  if (message.round > progress.round) progress.round = message.round;
  confirmReads(core);
}

function sendHeartbeats(core: CoreState): void {
  core.heartbeatElapsedMs = 0;
  for (const peer of core.peers) {
    const progress = progressOf(core, peer);
    if (!progress.connected) continue;
    const commit = minIndex(progress.match, core.commit);
    progress.sentCommit = maxIndex(progress.sentCommit, commit);
    core.send(peer, { type: 'heartbeat', term: core.term, commit, round: core.round });
  }
}

export function confirmReads(core: CoreState): void {
  if (core.readRounds.length === 0) return;
  const confirmed = reachedByQuorums(core.voterSets, (voter) =>
    voter === core.config.id ? core.round : progressOf(core, voter).round,
  );
  while ((core.readRounds[0]?.round ?? Infinity) <= confirmed) {
    const read = core.readRounds.shift();
    if (read !== undefined) core.effect({ type: 'read-ready', tickets: read.tickets, index: read.index });
  }
}
