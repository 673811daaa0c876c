/**
 * A disk that hangs. Its server acknowledges nothing, and as leader it would pile up in memory what it cannot write, so after
 * `diskStallMs` without any write ending it leads no longer, does not stand and votes for nobody, until a write ends. As
 * follower it costs the others nothing.
 */

import type { CoreState } from '../core-state.ts';
import type { Leader } from '../roles/leader.ts';
import { progressOf } from '../replication/followers.ts';
import { becomeFollower } from '../roles/transitions.ts';
import { bestSuccessor } from '../transfer/successor.ts';
import { NO_SERVER } from '../types.ts';

/** Of the time in which writes are under way and none ends: a disk that is slow, but works, does not stall. */
export function countDiskWait(core: CoreState, elapsedMs: number): void {
  core.writes.waitMs = core.writes.writing ? core.writes.waitMs + elapsedMs : 0;
}

export function diskStalls(core: CoreState): boolean {
  return core.writes.waitMs >= core.config.diskStallMs;
}

/** Milliseconds until the write that is under way counts as hung; Infinity when there is none, and when it does already. */
export function diskStallDueMs(core: CoreState): number {
  return core.writes.writing && !diskStalls(core) ? core.config.diskStallMs - core.writes.waitMs : Infinity;
}

/**
 * Steps down, and asks its successor to stand at once if that has the whole log; otherwise the others' election timers decide. A server
 * that is alone goes on: there is nobody to take over.
 */
export function stepDownForStall(core: CoreState, leader: Leader): void {
  if (core.membership.electorate.length === 0) return;
  const successor = bestSuccessor(core, leader);
  const hasAll = successor !== NO_SERVER && progressOf(leader, successor).match >= core.log.lastIndex;
  if (hasAll) core.send(successor, { type: 'timeout-now', term: core.term });
  becomeFollower(core, core.term, NO_SERVER);
}
