/**
 * A server whose log has lost what it had acknowledged. With its vote a leader could be elected that lacks committed entries, so it
 * votes for nobody, itself included, until it has again everything that may have been committed with its help.
 *
 * The ban begins in a term above every one in which it has voted or acknowledged what it lost, and the server takes that term at once. So
 * every leader that it follows from then on was elected without it and counts only what it acknowledges now; and once such a leader
 * tells it that an entry of such a term is committed, and it has that entry, its log holds all that was committed before.
 *
 *     S1  1 1 4 4     acknowledged entry 4 in term 4, so that it was committed with S2's help, and voted in term 5; then it lost
 *     S2  1 1 4 4     entries 3 and 4. Its ban has term 6. A leader of term 5 may still count the old acknowledgement; whoever leads
 *     S3  1 1         term 6 was elected by S2 and S3 alone, so it is S2. When S1 has an entry of term 6 that S2 has committed, it
 *                     has entries 3 and 4 again, which come before it.
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
