/** The leader's side of replication: proposals, and who is sent which entries when (thesis 3.5). */

import type { CoreState } from '../core-state.ts';
import { chooseEagerQuorum, mayDefer } from './eager-quorum.ts';
import { progressOf } from './followers.ts';
import { invariant } from '../invariant.ts';
import type { Leader } from '../roles/leader.ts';
import type { Progress } from './progress.ts';
import { appendProposals } from './proposals.ts';
import { isNeeded } from '../election/quorum-contact.ts';
import { awaitsSnapshot, isBehindLog } from '../log/snapshots.ts';
import { holdProposals } from '../transfer/transfer.ts';
import {
  logIndex,
  maxIndex,
  minIndex,
  previousIndex,
  totalBytes,
  type Entry,
  type LogIndex,
  type ServerId,
  type Term,
} from '../types.ts';

/** Heartbeat intervals without an acknowledgement after which an append is sent again. Two, so that one whole interval has passed. */
const MAX_INTERVALS_WITHOUT_ACK = 2;

export function onPropose(core: CoreState, commands: readonly Uint8Array[]): void {
  const { role } = core;
  if (role.type !== 'leader') core.effect({ type: 'proposals-rejected', commands, reason: 'not-leader' });
  else if (!holdProposals(core, role, commands)) appendProposals(core, role, commands);
}

/** Sends each peer what it lacks and may have now; at the end of a group, so that a turn's proposals are one message. */
export function replicate(core: CoreState, leader: Leader): void {
  const cut = sharedCut(core);
  chooseEagerQuorum(core, leader);
  for (const peer of core.membership.peers) {
    const progress = progressOf(leader, peer);
    if (!progress.connected || awaitsSnapshot(core, peer, progress) || mayDefer(core, leader, progress)) continue;
    progress.deferred = false;
    sendAppends(core, leader, peer, progress, cut);
  }
}

/** Whether {@link replicate} has nothing to send: the peer has been sent everything, or the rest is deferred. */
export function hasNothingToSend(core: CoreState, progress: Progress): boolean {
  return progress.mode === 'replicate' && (progress.deferred || progress.next > core.log.lastIndex);
}

type Cut = (from: LogIndex) => readonly Entry[] | undefined;

/** Peers that are equally far get the same array, so that the driver encodes it once. */
function sharedCut(core: CoreState): Cut {
  let last: { readonly from: LogIndex; readonly entries: readonly Entry[] | undefined } | undefined;
  return (from) => {
    if (last?.from !== from)
      last = { from, entries: core.log.slice(from, core.log.lastIndex, core.config.maxAppendBytes) };
    return last.entries;
  };
}

export function onEntriesRead(core: CoreState, peer: ServerId, term: Term, entries: readonly Entry[]): void {
  if (core.role.type !== 'leader' || term !== core.term) return;
  const progress = core.role.progress.get(peer);
  // It may have been removed meanwhile.
  if (progress === undefined) return;
  progress.reading = false;
  if (!progress.connected || entries[0]?.index !== progress.next || !hasRoom(core, progress)) return;
  if (isBehindLog(core, progress)) return;
  sendAppend(core, peer, progress, entries);
}

/** Counts, once a heartbeat interval, which peers owe an answer to an append. */
export function tickRetries(core: CoreState, leader: Leader, elapsedMs: number): void {
  leader.retryElapsedMs += elapsedMs;
  if (leader.retryElapsedMs < core.config.heartbeatMs) return;
  leader.retryElapsedMs = 0;
  for (const peer of core.membership.peers) {
    const progress = progressOf(leader, peer);
    if (progress.unanswered) progress.intervalsWithoutAck += 1;
  }
}

/**
 * Appends and answers may get lost without a connection of ours being the one that closed. A peer that lives and has owed an answer
 * for an interval is asked again: a probe is repeated; in replicate an empty append behind all that was sent makes it acknowledge
 * everything at once, or refuse, which shows the gap. A slow disk costs it one empty append an interval.
 */
export function retryUnacknowledged(core: CoreState, peer: ServerId, progress: Progress): void {
  if (progress.intervalsWithoutAck < MAX_INTERVALS_WITHOUT_ACK || !progress.connected || isBehindLog(core, progress))
    return;
  progress.intervalsWithoutAck = 0;
  if (progress.mode === 'probe') progress.probing = false;
  else sendAppendAt(core, peer, previousIndex(progress.next), []);
}

function hasRoom(core: CoreState, progress: Progress): boolean {
  if (progress.mode === 'snapshot') return false;
  if (progress.mode === 'probe') return !progress.probing;
  return (
    progress.inflightMessages < core.config.maxInflightMessages && progress.inflightBytes < core.config.maxInflightBytes
  );
}

function sendAppends(core: CoreState, leader: Leader, peer: ServerId, progress: Progress, cut: Cut): void {
  while (!progress.reading && hasRoom(core, progress)) {
    if (progress.next > core.log.lastIndex && progress.mode !== 'probe') return;
    const entries = cut(progress.next);
    if (entries === undefined || isFarBehind(core, progress.next, entries)) {
      requestEntries(core, leader, peer, progress);
      return;
    }
    sendAppend(core, peer, progress, entries);
  }
}

/**
 * More than an append away from what is being committed: the driver brings it nearer at a pace that leaves the leader time for
 * everything else. What is not committed yet never waits for that, nor what is not durable here and could not be read again.
 */
function isFarBehind(core: CoreState, from: LogIndex, entries: readonly Entry[]): boolean {
  return from + entries.length <= minIndex(core.commit, core.writes.stableIndex);
}

function sendAppend(core: CoreState, peer: ServerId, progress: Progress, entries: readonly Entry[]): void {
  const prevIndex = previousIndex(progress.next);
  sendAppendAt(core, peer, prevIndex, entries);
  const lastIndex = logIndex(prevIndex + entries.length);
  progress.sent(lastIndex, totalBytes(entries));
  progress.sentAt = core.now;
  if (progress.mode === 'replicate') progress.sentCommit = minIndex(core.commit, lastIndex);
}

function sendAppendAt(core: CoreState, peer: ServerId, prevIndex: LogIndex, entries: readonly Entry[]): void {
  const prevTerm = core.log.termAt(prevIndex);
  invariant(prevTerm !== undefined, 'the-entry-before-an-append-is-known');
  core.send(peer, { type: 'append', term: core.term, prevIndex, prevTerm, commit: core.commit, entries });
}

function requestEntries(core: CoreState, leader: Leader, peer: ServerId, progress: Progress): void {
  progress.reading = true;
  core.effect({
    type: 'read-entries',
    peer,
    term: core.term,
    from: progress.next,
    to: maxIndex(previousIndex(core.log.tailFirst), minIndex(core.commit, core.writes.stableIndex)),
    maxBytes: Math.min(core.config.maxAppendBytes, core.config.maxCatchUpBytes),
    urgent: isNeeded(core, leader, peer),
  });
}
