/**
 * A disk that hangs. Its server acknowledges nothing, and as leader it would pile up in memory what it cannot write, so after
 * `diskStallMs` without any write ending it leads no longer, does not stand and votes for nobody, until a write ends. As
 * follower it costs the others nothing.
 */

import type { CoreState } from './core-state.ts';
import type { Leader } from './leader.ts';
import { isHeard } from './quorum-contact.ts';
import { progressOf } from './followers.ts';
import { becomeFollower } from './role.ts';
import { NO_SERVER } from './types.ts';

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
 * Steps down, and asks a follower that has the whole log to stand at once; without one the others' election timers decide. A server
 * that is alone goes on: there is nobody to take over.
 */
export function leaveToOthers(core: CoreState, leader: Leader): void {
  if (core.membership.electorate.length === 0) return;
  const successor = core.membership.electorate.find((peer) => {
    const progress = progressOf(leader, peer);
    return isHeard(core, progress) && progress.match >= core.log.lastIndex;
  });
  if (successor !== undefined) core.send(successor, { type: 'timeout-now', term: core.term });
  becomeFollower(core, core.term, NO_SERVER);
}
