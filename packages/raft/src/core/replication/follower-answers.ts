/** What a leader makes of its followers' answers and connections: where their logs agree with its own, and what that commits. */

import { advanceLeaderCommit, majorityIndex } from './commit.ts';
import type { CoreState } from '../core-state.ts';
import { progressOf } from './followers.ts';
import { noteCommitDecidedBy } from './eager-quorum.ts';
import { membershipIsStable } from '../membership/membership.ts';
import { invariant } from '../invariant.ts';
import type { Leader } from '../roles/leader.ts';
import type { Progress } from './progress.ts';
import { hasNothingToSend } from './replication.ts';
import { becomeFollower } from '../roles/transitions.ts';
import { targetDisconnected } from '../transfer/transfer.ts';
import {
  NO_SERVER,
  logIndex,
  minIndex,
  nextIndex,
  previousIndex,
  type MessageOf,
  type ServerId,
  type Term,
} from '../types.ts';

export function onAppendResponse(core: CoreState, from: ServerId, message: MessageOf<'append-response'>): void {
  const leader = leaderOf(core, message.term);
  if (leader === undefined) return;
  const progress = hearFollower(core, leader, from);
  progress.eagerCommit = message.eagerCommit;
  if (message.accepted) {
    invariant(message.index <= core.log.lastIndex, 'acknowledgements-are-within-the-log');
    const before = core.commit;
    if (progress.acknowledged(message.index)) advanceLeaderCommit(core, leader);
    if (core.commit > before) noteCommitDecidedBy(core, leader, progress, before);
    return;
  }
  // A refusal that was overtaken: of a probe that is over, or of what is known to agree.
  const stale =
    message.refusedIndex <= progress.match ||
    (progress.mode === 'probe' && message.refusedIndex !== previousIndex(progress.next));
  if (stale) return;
  const agree = core.log.lastIndexWithTermAtMost(
    minIndex(message.index, previousIndex(message.refusedIndex)),
    message.hintTerm,
  );
  progress.probeFrom(nextIndex(agree));
}

/**
 * Whether {@link onAppendResponse}, and what a step does behind it, would have no effect: nothing is committed by it, no news of a commit
 * and no entries are owed to the peer, and neither a transfer nor a change of the members waits for it.
 */
export function acknowledgementCanWait(
  core: CoreState,
  from: ServerId,
  message: MessageOf<'append-response'>,
): boolean {
  if (core.role.type !== 'leader' || message.term !== core.term || !message.accepted) return false;
  const leader = core.role;
  const progress = leader.progress.get(from);
  if (progress === undefined || leader.transfer !== undefined || !membershipIsStable(core, leader)) return false;
  if (message.eagerCommit || wantsNews(leader, progress) || !hasNothingToSend(core, progress)) return false;
  return majorityIndex(core, leader, core.writes.stableIndex, from, message.index) <= core.commit;
}

export function onPeerConnection(core: CoreState, peer: ServerId, connected: boolean): void {
  if (connected) core.connected.add(peer);
  else core.connected.delete(peer);
  if (core.role.type !== 'leader') return;
  const progress = core.role.progress.get(peer);
  if (progress === undefined) return;
  progress.connected = connected;
  // Of a peer that has not answered yet, nothing is known that a new connection would change: not the whole log from its beginning.
  progress.probeFrom(progress.mode === 'probe' ? progress.next : nextIndex(progress.match));
  // What was told may have been lost.
  progress.sentCommit = logIndex(0);
  if (!connected) targetDisconnected(core, core.role, peer);
}

/** Whom an answer of that term is for: this server, if it leads the term. Steps down to a higher one. */
export function leaderOf(core: CoreState, messageTerm: Term): Leader | undefined {
  if (messageTerm > core.term) {
    becomeFollower(core, messageTerm, NO_SERVER);
    return undefined;
  }
  return core.role.type === 'leader' && messageTerm === core.term ? core.role : undefined;
}

/** The progress of a follower that answers in the present term. */
export function hearFollower(core: CoreState, leader: Leader, from: ServerId): Progress {
  const progress = progressOf(leader, from);
  progress.heardMs = core.countedMs;
  return progress;
}

/**
 * Tells the peers that want to know at once, when no append has told them in this group. Of what takes long to apply, those are told as
 * well on whom the next commits wait: they apply it while this server does, and not when their acknowledgement is needed again.
 */
export function sendCommitNews(core: CoreState, leader: Leader): void {
  for (const peer of core.membership.peers) {
    const progress = progressOf(leader, peer);
    const commit = minIndex(progress.match, core.commit);
    if (!progress.connected || !wantsNews(leader, progress) || commit <= progress.sentCommit) continue;
    progress.sentCommit = commit;
    core.send(peer, { type: 'commit', term: core.term, commit });
  }
}

function wantsNews(leader: Leader, progress: Progress): boolean {
  if (progress.eagerCommit) return true;
  return leader.longCommit > progress.sentCommit && (progress.eager || !leader.eagerQuorumStands);
}
