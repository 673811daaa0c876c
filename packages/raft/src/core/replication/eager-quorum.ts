/**
 * Which followers get new entries at once. A commit takes a majority, so as many followers as make one with the leader, the eager
 * quorum, get every batch as it is proposed; the others, the deferred followers, get appends once per `deferredFollowerDelayMs` at most,
 * with what has gathered meanwhile, as one message for one durable write. (Paxos implementations that send to a quorum alone are called
 * thrifty.) It is a matter of speed alone: a leader may send whenever it likes.
 *
 * No client waits for it: a follower that has clients gets entries at once, and so does the target of a transfer; everybody does when the
 * eager quorum is incomplete or the members change; and a deferred follower that is faster than an eager one changes places with it.
 * One that has clients gets entries at once all the same, but is relied upon no longer until it keeps up again.
 */

import type { CoreState } from '../core-state.ts';
import type { Leader } from '../roles/leader.ts';
import type { Progress } from './progress.ts';
import type { LogIndex } from '../types.ts';
import { quorumSize } from '../quorum/quorum.ts';

/** Commits that a deferred follower has decided, less those that it was too late for, that make it eager. */
const COMMITS_TO_BECOME_EAGER = 8;

/** Before new entries are sent. */
export function chooseEagerQuorum(core: CoreState, leader: Leader): void {
  leader.deferredDueAt = Infinity;
  leader.eagerQuorumStands = false;
  if (core.config.deferredFollowerDelayMs === 0 || !core.membership.stable) return;
  let lacking = quorumSize(core.membership.voterSets[0]?.length ?? 0) - 1;
  for (const progress of leader.voterProgress) if (isReliedUpon(core, leader, progress)) lacking -= 1;
  for (const progress of leader.voterProgress) {
    if (!progress.eager) continue;
    progress.eager = lacking > 0 && keepsUp(core, progress) && !needsEagerReplication(leader, progress);
    if (progress.eager) lacking -= 1;
  }
  while (lacking > 0) {
    const best = bestDeferred(core, leader);
    if (best === undefined) return;
    best.eager = true;
    best.commitsDecided = 0;
    lacking -= 1;
  }
  leader.eagerQuorumStands = true;
}

/** Whether what the peer lacks may be sent later. */
export function mayDefer(core: CoreState, leader: Leader, progress: Progress): boolean {
  if (
    !leader.eagerQuorumStands ||
    progress.eager ||
    progress.mode !== 'replicate' ||
    needsEagerReplication(leader, progress)
  )
    return false;
  if (progress.next > core.log.lastIndex) return false;
  const dueAt = progress.sentAt + core.config.deferredFollowerDelayMs;
  progress.deferred = core.now < dueAt;
  if (progress.deferred) leader.deferredDueAt = Math.min(leader.deferredDueAt, dueAt);
  return progress.deferred;
}

/** The answer of this peer has moved the commit index on from `before`. */
export function noteCommitDecidedBy(core: CoreState, leader: Leader, decider: Progress, before: LogIndex): void {
  if (!leader.eagerQuorumStands) return;
  const isDeferred = !decider.eager && !needsEagerReplication(leader, decider);
  for (const progress of leader.voterProgress) {
    // Up to the commit before this one: it is hardly slower than whoever made this one.
    if (progress.match >= before) progress.overtaken = false;
    const owes = progress.match < core.commit && progress.next > core.commit;
    if (!isDeferred && !progress.eager && owes) progress.commitsDecided = Math.max(0, progress.commitsDecided - 1);
  }
  if (!isDeferred) return;
  const slowest = slowestEager(core, leader);
  // Else it was this server's own write that the commit had waited for.
  if (slowest === undefined || slowest.match >= core.commit) return;
  decider.commitsDecided += 1;
  if (decider.commitsDecided < COMMITS_TO_BECOME_EAGER) return;
  decider.commitsDecided = 0;
  decider.eager = true;
  slowest.eager = false;
  slowest.overtaken = true;
}

/** Its answer takes one of the places that make a majority, though it was not chosen for one. */
function isReliedUpon(core: CoreState, leader: Leader, progress: Progress): boolean {
  return needsEagerReplication(leader, progress) && !progress.overtaken && keepsUp(core, progress);
}

/** True for a follower that has clients, and for the target of a transfer: both get appends at once. */
function needsEagerReplication(leader: Leader, progress: Progress): boolean {
  return (
    progress.eagerCommit || (leader.transfer !== undefined && leader.progress.get(leader.transfer.target) === progress)
  );
}

/** It answers, and takes entries without being asked where its log agrees. */
function keepsUp(core: CoreState, progress: Progress): boolean {
  return progress.mode === 'replicate' && progress.isAlive(core.countedMs);
}

function bestDeferred(core: CoreState, leader: Leader): Progress | undefined {
  let best: Progress | undefined;
  for (const progress of leader.voterProgress) {
    if (progress.eager || !keepsUp(core, progress) || needsEagerReplication(leader, progress)) continue;
    if (best === undefined || progress.match > best.match) best = progress;
  }
  return best;
}

function slowestEager(core: CoreState, leader: Leader): Progress | undefined {
  let slowest: Progress | undefined;
  for (const progress of leader.voterProgress) {
    const counts = progress.eager || isReliedUpon(core, leader, progress);
    if (counts && (slowest === undefined || progress.match < slowest.match)) slowest = progress;
  }
  return slowest;
}
