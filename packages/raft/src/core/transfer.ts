/** Handing leadership over (thesis 3.10): hold back proposals and reads, wait until the target has everything, tell it to stand. */

import type { CoreState } from './core-state.ts';
import { progressOf } from './replication.ts';
import { NO_SERVER } from './types.ts';

export function onTransfer(core: CoreState): void {
  if (core.role !== 'leader') {
    core.effect({ type: 'transfer-ended', outcome: 'not-leader' });
    return;
  }
  if (core.transferElapsedMs !== undefined) return;
  const candidates = core.peers
    .map((peer) => ({ peer, progress: progressOf(core, peer) }))
    .filter(({ progress }) => progress.connected && (progress.active || progress.wasActive))
    .toSorted((a, b) => b.progress.match - a.progress.match || a.peer - b.peer);
  const target = candidates[0]?.peer;
  if (target === undefined) {
    core.effect({ type: 'transfer-ended', outcome: 'no-target' });
    return;
  }
  core.transferElapsedMs = 0;
  core.transferTarget = target;
  core.rejectReads('transferring');
}

/** At the end of a group. The target's log must be durable to the end: it has to win. */
export function continueTransfer(core: CoreState): void {
  if (core.transferElapsedMs === undefined || core.transferTarget === NO_SERVER) return;
  if (progressOf(core, core.transferTarget).match < core.log.lastIndex) return;
  core.send(core.transferTarget, { type: 'timeout-now', term: core.term });
  core.transferTarget = NO_SERVER;
}

export function tickTransfer(core: CoreState, elapsedMs: number): void {
  if (core.transferElapsedMs === undefined) return;
  core.transferElapsedMs += elapsedMs;
  if (core.transferElapsedMs < core.config.electionTimeoutMs) return;
  core.transferElapsedMs = undefined;
  core.transferTarget = NO_SERVER;
  core.effect({ type: 'transfer-ended', outcome: 'timed-out' });
}
