/**
 * Snapshots (chapter 5 of the thesis): what their taking lets a server forget, what the receipt of one does to its log, and which peers
 * can be brought on by nothing else. The bytes are the driver's; here a snapshot is a position in the log.
 */

import type { CoreState } from '../core-state.ts';
import type { EventOf } from '../event.ts';
import { invariant } from '../invariant.ts';
import type { Progress } from '../replication/progress.ts';
import { becomeFollower } from '../roles/transitions.ts';
import { minIndex, nextIndex, type LogIndex, type LogPosition, type ServerId } from '../types.ts';

export function onSnapshotTaken(core: CoreState, { index, term }: LogPosition, compactTo: LogIndex): void {
  invariant(index <= core.applied, 'a-snapshot-holds-only-what-was-applied', () => `${index} of ${core.applied}`);
  const known = core.log.termAt(index);
  // One that was received meanwhile may have replaced the log behind it.
  invariant(
    known === undefined ? index < core.log.base.index : known === term,
    'a-snapshot-is-of-the-log',
    () => `entry ${index} of term ${term}, but ${known}`,
  );
  const upTo = minIndex(minIndex(compactTo, index), core.writes.stableIndex);
  if (upTo <= core.log.base.index) return;
  core.log.compactTo(upTo);
  core.effect({ type: 'compact', upTo });
}

/**
 * Whatever leader it comes from, what it holds is committed. A log that has its last entry needs no new state: it is told that it may
 * commit so far. One that ends before it, or has another entry there, is void, all of it: what follows a conflict is in conflict too.
 */
export function onSnapshotReceived(core: CoreState, { from, term, position }: EventOf<'snapshot-received'>): void {
  if (term > core.term) becomeFollower(core, term, from);
  // A leader has every committed entry, and knows best how far to commit.
  if (position.index <= core.commit || core.role.type === 'leader') return;
  const { index, term: lastTerm } = position;
  if (core.log.termAt(index) !== lastTerm) {
    core.beginLogAt(position);
    core.effect({ type: 'restore', position: { index, term: lastTerm } });
  }
  core.advanceCommit(position.index);
}

/** The peer's own acknowledgement is yet to come: it is probed behind the snapshot. */
export function onSnapshotSent(core: CoreState, { peer, term, index }: EventOf<'snapshot-sent'>): void {
  if (core.role.type !== 'leader' || term !== core.term) return;
  const progress = core.role.progress.get(peer);
  if (progress?.mode !== 'snapshot') return;
  progress.probeFrom(nextIndex(minIndex(index, core.log.lastIndex)));
}

/** Whether the entry before the next one that the peer needs is unknown here. */
export function isBehindLog(core: CoreState, progress: Progress): boolean {
  return progress.next <= core.log.base.index;
}

/** Whether appends must wait for a snapshot. The first time it asks for one. */
export function awaitsSnapshot(core: CoreState, peer: ServerId, progress: Progress): boolean {
  if (!isBehindLog(core, progress)) {
    if (progress.mode === 'snapshot') progress.probeFrom(progress.next);
    return false;
  }
  if (progress.mode !== 'snapshot') {
    progress.awaitSnapshot();
    core.effect({ type: 'send-snapshot', peer, term: core.term });
  }
  return true;
}
