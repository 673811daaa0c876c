/**
 * Whom a leader tells of new entries at once. A commit takes a majority, so as many followers as make one with the leader, the front,
 * get every batch as it is proposed; the others, the rear, are told every `rearDelayMs` at most, of what has gathered meanwhile, as one
 * message for one durable write. It is a matter of speed alone: a leader may send whenever it likes.
 *
 * Nobody waits for it: a follower that has clients is told at once, and one that is to take over; everybody is, when the front is not
 * complete or the members change; and a follower of the rear that is faster than one of the front changes places with it. One that has
 * clients is told at once all the same, but is relied upon no longer until it keeps up again.
 */

import type { CoreState } from '../core-state.ts';
import type { Leader } from '../roles/leader.ts';
import type { Progress } from './progress.ts';
import type { LogIndex } from '../types.ts';
import { quorumSize } from '../quorum/quorum.ts';

/** Commits that a follower of the rear has made, less those that it was too late for, that move it to the front. */
const WINS_TO_THE_FRONT = 8;

/** Before new entries are sent. */
export function chooseFront(core: CoreState, leader: Leader): void {
  leader.rearDueAt = Infinity;
  leader.frontLeads = false;
  if (core.config.rearDelayMs === 0 || !core.membership.settled) return;
  let lacking = quorumSize(core.membership.voterSets[0]?.length ?? 0) - 1;
  for (const progress of leader.voterProgress) if (isReliedUpon(core, leader, progress)) lacking -= 1;
  for (const progress of leader.voterProgress) {
    if (!progress.front) continue;
    progress.front = lacking > 0 && inStep(core, progress) && !isPrompt(leader, progress);
    if (progress.front) lacking -= 1;
  }
  while (lacking > 0) {
    const best = bestOfRear(core, leader);
    if (best === undefined) return;
    best.front = true;
    best.wins = 0;
    lacking -= 1;
  }
  leader.frontLeads = true;
}

/** Whether what the peer lacks may stay here for now. */
export function mayWait(core: CoreState, leader: Leader, progress: Progress): boolean {
  if (!leader.frontLeads || progress.front || progress.mode !== 'replicate' || isPrompt(leader, progress)) return false;
  if (progress.next > core.log.lastIndex) return false;
  const dueAt = progress.toldAt + core.config.rearDelayMs;
  progress.kept = core.now < dueAt;
  if (progress.kept) leader.rearDueAt = Math.min(leader.rearDueAt, dueAt);
  return progress.kept;
}

/** The answer of this peer has moved the commit index on from `before`. */
export function noteCommitBy(core: CoreState, leader: Leader, winner: Progress, before: LogIndex): void {
  if (!leader.frontLeads) return;
  const inRear = !winner.front && !isPrompt(leader, winner);
  for (const progress of leader.voterProgress) {
    // Up to the commit before this one: it is hardly slower than whoever made this one.
    if (progress.match >= before) progress.outrun = false;
    const owes = progress.match < core.commit && progress.next > core.commit;
    if (!inRear && !progress.front && owes) progress.wins = Math.max(0, progress.wins - 1);
  }
  if (!inRear) return;
  const slowest = slowestOfFront(core, leader);
  // Else it was this server's own write that the commit had waited for.
  if (slowest === undefined || slowest.match >= core.commit) return;
  winner.wins += 1;
  if (winner.wins < WINS_TO_THE_FRONT) return;
  winner.wins = 0;
  winner.front = true;
  slowest.front = false;
  slowest.outrun = true;
}

/** Its answer takes one of the places that make a majority, though nobody put it to the front. */
function isReliedUpon(core: CoreState, leader: Leader, progress: Progress): boolean {
  return isPrompt(leader, progress) && !progress.outrun && inStep(core, progress);
}

/** Its clients wait for news of it, or everybody's do. */
function isPrompt(leader: Leader, progress: Progress): boolean {
  return (
    progress.eagerCommit || (leader.transfer !== undefined && leader.progress.get(leader.transfer.target) === progress)
  );
}

/** It answers, and takes entries without being asked where its log agrees. */
function inStep(core: CoreState, progress: Progress): boolean {
  return progress.mode === 'replicate' && progress.isAlive(core.countedMs);
}

function bestOfRear(core: CoreState, leader: Leader): Progress | undefined {
  let best: Progress | undefined;
  for (const progress of leader.voterProgress) {
    if (progress.front || !inStep(core, progress) || isPrompt(leader, progress)) continue;
    if (best === undefined || progress.match > best.match) best = progress;
  }
  return best;
}

function slowestOfFront(core: CoreState, leader: Leader): Progress | undefined {
  let slowest: Progress | undefined;
  for (const progress of leader.voterProgress) {
    const counts = progress.front || isReliedUpon(core, leader, progress);
    if (counts && (slowest === undefined || progress.match < slowest.match)) slowest = progress;
  }
  return slowest;
}
