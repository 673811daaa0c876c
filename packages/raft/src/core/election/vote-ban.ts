/**
 * A server whose log has lost what it had acknowledged. With its vote a leader could be elected that lacks committed entries, so it
 * votes for nobody, itself included, until it has again everything that may have been committed with its help.
 *
 * The ban begins in a term above every one in which it has voted or acknowledged what it lost, and the server takes that term at once. So
 * every leader that it follows from then on was elected without it and counts only what it acknowledges now; and once such a leader
 * tells it that an entry of such a term is committed, and it has that entry, its log holds all that was committed before.
 */

import type { CoreState } from '../core-state.ts';
import { NO_SERVER } from '../types.ts';

/** At the start. */
export function beginVoteBan(core: CoreState): void {
  if (core.voteBan !== undefined && core.term < core.voteBan) core.setHardState(core.voteBan, NO_SERVER);
}

/** At the end of a group. */
export function liftVoteBan(core: CoreState): void {
  if (core.voteBan === undefined || core.writes.stableIndex < core.commit) return;
  if ((core.log.termAt(core.commit) ?? 0) < core.voteBan) return;
  core.voteBan = undefined;
  core.effect({ type: 'lift-vote-ban' });
}
