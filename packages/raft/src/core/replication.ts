/** The leader's side of replication: proposals, appends, acknowledgements, the commit rule (thesis 3.5, 3.6.2, 5.4.2 of the paper). */

import { reachedByQuorums } from './active-quorums.ts';
import type { CoreState } from './core-state.ts';
import { chooseFront, mayWait, noteCommitBy } from './front.ts';
import { progressOf } from './followers.ts';
import { invariant } from './invariant.ts';
import type { Leader } from './leader.ts';
import type { Progress } from './progress.ts';
import { appendProposals } from './proposals.ts';
import { isNeeded } from './quorum-contact.ts';
import { becomeFollower } from './role.ts';
import { awaitsSnapshot, isBehindLog } from './snapshots.ts';
import { holdProposals, targetDisconnected } from './transfer.ts';
import {
  NO_SERVER,
  entryBytes,
  logIndex,
  maxIndex,
  minIndex,
  nextIndex,
  previousIndex,
  type Entry,
  type LogIndex,
  type Message,
  type ServerId,
  type Term,
} from './types.ts';

type Of<T extends Message['type']> = Extract<Message, { type: T }>;

/** Of looks an interval apart; with two, one whole interval has passed since the append was sent. */
const UNANSWERED_LOOKS = 2;

export function onPropose(core: CoreState, commands: readonly Uint8Array[]): void {
  const { role } = core;
  if (role.type !== 'leader') core.effect({ type: 'proposals-rejected', commands, reason: 'not-leader' });
  else if (!holdProposals(core, role, commands)) appendProposals(core, role, commands);
}

/** Sends each peer what it lacks and may have now; at the end of a group, so that a turn's proposals are one message. */
export function replicate(core: CoreState, leader: Leader): void {
  const cut = sharedCut(core);
  chooseFront(core, leader);
  for (const peer of core.membership.peers) {
    const progress = progressOf(leader, peer);
    if (!progress.connected || awaitsSnapshot(core, peer, progress) || mayWait(core, leader, progress)) continue;
    progress.kept = false;
    sendAppends(core, leader, peer, progress, cut);
  }
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

/** Tells the peers that want to know at once, when no append has told them in this group. */
export function sendCommitNews(core: CoreState, leader: Leader): void {
  for (const peer of core.membership.peers) {
    const progress = progressOf(leader, peer);
    const commit = minIndex(progress.match, core.commit);
    if (!progress.connected || !progress.eagerCommit || commit <= progress.sentCommit) continue;
    progress.sentCommit = commit;
    core.send(peer, { type: 'commit', term: core.term, commit });
  }
}

export function onAppendResponse(core: CoreState, from: ServerId, message: Of<'append-response'>): void {
  const leader = leaderOf(core, message.term);
  if (leader === undefined) return;
  const progress = hearFollower(core, leader, from);
  progress.eagerCommit = message.eagerCommit;
  if (message.accepted) {
    invariant(message.index <= core.log.lastIndex, 'acknowledgements-are-within-the-log');
    const before = core.commit;
    if (progress.acknowledged(message.index)) advanceLeaderCommit(core, leader);
    if (core.commit > before) noteCommitBy(core, leader, progress, before);
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
    if (progress.unanswered) progress.unansweredLooks += 1;
  }
}

/**
 * Appends and answers may get lost without a connection of ours being the one that closed. A peer that lives and has owed an answer
 * for an interval is asked again: a probe is repeated; in replicate an empty append behind all that was sent makes it acknowledge
 * everything at once, or refuse, which shows the gap. A slow disk costs it one empty append an interval.
 */
export function retryUnanswered(core: CoreState, peer: ServerId, progress: Progress): void {
  if (progress.unansweredLooks < UNANSWERED_LOOKS || !progress.connected || isBehindLog(core, progress)) return;
  progress.unansweredLooks = 0;
  if (progress.mode === 'probe') progress.probing = false;
  else sendAppendAt(core, peer, previousIndex(progress.next), []);
}

export function onPersisted(core: CoreState): void {
  // The leader's own disk is one more follower.
  if (core.role.type === 'leader') advanceLeaderCommit(core, core.role);
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

/** Up to where a majority of every set of voters would have the log durably, had this server it up to `own` and, when given, `peer` up to `match`. */
export function majorityIndex(
  core: CoreState,
  leader: Leader,
  own: LogIndex,
  peer = NO_SERVER,
  match = logIndex(0),
): LogIndex {
  const durable = (voter: ServerId): LogIndex => {
    if (voter === core.config.id) return own;
    const known = progressOf(leader, voter).match;
    return voter === peer ? maxIndex(known, match) : known;
  };
  return logIndex(reachedByQuorums(core.membership.voterSets, durable));
}

/**
 * Only entries of the own term commit by counting (and with them all before): one of an older term on a majority may still be
 * replaced by a leader that never saw it (figure 8 of the paper).
 */
export function advanceLeaderCommit(core: CoreState, leader: Leader): void {
  const index = majorityIndex(core, leader, core.writes.stableIndex);
  if (index <= core.commit || core.log.termAt(index) !== core.term) return;
  leader.uncommittedBytes -= committedBytes(core, leader, index);
  core.advanceCommit(index);
}

/** Bytes of this leadership's proposals that a commit `upTo` covers; all of them are in memory, since none was applied. */
function committedBytes(core: CoreState, { noopIndex }: Leader, upTo: LogIndex): number {
  const entries = core.log.slice(nextIndex(maxIndex(core.commit, noopIndex)), upTo, Infinity);
  invariant(entries !== undefined, 'entries-that-are-not-committed-are-in-memory');
  return totalBytes(entries);
}

function totalBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entryBytes(entry);
  return bytes;
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
  progress.toldAt = core.now;
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
