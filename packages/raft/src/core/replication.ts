/** The leader's side of replication: proposals, appends, acknowledgements, the commit rule (thesis 3.5, 3.6.2, 5.4.2 of the paper). */

import type { CoreState } from './core-state.ts';
import { invariant } from './invariant.ts';
import type { Progress } from './progress.ts';
import { quorumValue } from './quorum.ts';
import { becomeFollower } from './role.ts';
import {
  EntryType,
  NO_SERVER,
  logIndex,
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

export function onPropose(core: CoreState, commands: readonly Uint8Array[]): void {
  const reason =
    core.role !== 'leader' ? 'not-leader' : core.transferElapsedMs !== undefined ? 'transferring' : undefined;
  if (reason !== undefined) {
    core.effect({ type: 'proposals-rejected', commands, reason });
    return;
  }
  for (const [position, data] of commands.entries()) {
    if (core.uncommittedBytes > 0 && core.uncommittedBytes + data.length > core.config.maxUncommittedBytes) {
      // In order: what comes behind a refused proposal is refused too.
      core.effect({ type: 'proposals-rejected', commands: commands.slice(position), reason: 'overloaded' });
      return;
    }
    core.uncommittedBytes += data.length;
    core.appendEntry({ index: nextIndex(core.log.lastIndex), term: core.term, type: EntryType.command, data });
  }
}

/** Sends each peer what it lacks and may have; at the end of a group, so that a turn's proposals are one message. */
export function replicate(core: CoreState): void {
  for (const peer of core.peers) {
    const progress = progressOf(core, peer);
    if (progress.connected) sendAppends(core, peer, progress);
  }
}

/** Tells the peers that want to know at once, when no append has told them in this group. */
export function sendCommitNews(core: CoreState): void {
  for (const peer of core.peers) {
    const progress = progressOf(core, peer);
    const commit = minIndex(progress.match, core.commit);
    if (!progress.connected || !progress.eagerCommit || commit <= progress.sentCommit) continue;
    progress.sentCommit = commit;
    core.send(peer, { type: 'commit', term: core.term, commit });
  }
}

export function onAppendResponse(core: CoreState, from: ServerId, message: Of<'append-response'>): void {
  const progress = hearFollower(core, from, message.term);
  if (progress === undefined) return;
  progress.eagerCommit = message.eagerCommit;
  if (message.accepted) {
    invariant(message.index <= core.log.lastIndex, 'acknowledgements-are-within-the-log');
    if (progress.acknowledged(message.index)) advanceLeaderCommit(core);
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
  if (core.role !== 'leader' || term !== core.term) return;
  const progress = progressOf(core, peer);
  progress.reading = false;
  if (!progress.connected || entries[0]?.index !== progress.next || !hasRoom(core, progress)) return;
  sendAppend(core, peer, progress, entries);
}

export function onPersisted(core: CoreState): void {
  // The leader's own disk is one more follower.
  if (core.role === 'leader') advanceLeaderCommit(core);
}

export function onPeerConnection(core: CoreState, peer: ServerId, connected: boolean): void {
  const progress = progressOf(core, peer);
  progress.connected = connected;
  progress.probeFrom(nextIndex(progress.match));
  // What was told may have been lost.
  progress.sentCommit = logIndex(0);
}

/** The progress of a follower that speaks in the present term; steps down to a higher one. */
export function hearFollower(core: CoreState, from: ServerId, messageTerm: Term): Progress | undefined {
  if (messageTerm > core.term) {
    becomeFollower(core, messageTerm, NO_SERVER);
    return undefined;
  }
  if (core.role !== 'leader' || messageTerm !== core.term) return undefined;
  const progress = progressOf(core, from);
  progress.active = true;
  return progress;
}

export function progressOf(core: CoreState, peer: ServerId): Progress {
  const progress = core.progress.get(peer);
  invariant(progress !== undefined, 'every-peer-has-a-progress');
  return progress;
}

/**
 * Only entries of the own term commit by counting (and with them all before): one of an older term on a majority may still be
 * replaced by a leader that never saw it (figure 8 of the paper).
 */
function advanceLeaderCommit(core: CoreState): void {
  const matches = core.peers.map((peer) => progressOf(core, peer).match as number);
  const index = logIndex(quorumValue([...matches, core.stableIndex]));
  if (index <= core.commit || core.log.termAt(index) !== core.term) return;
  core.uncommittedBytes -= committedBytes(core, index);
  core.advanceCommit(index);
}

function committedBytes(core: CoreState, upTo: LogIndex): number {
  const entries = core.log.slice(nextIndex(core.commit), upTo, Infinity) ?? [];
  let bytes = 0;
  for (const entry of entries) if (entry.term === core.term) bytes += entry.data.length;
  return bytes;
}

function hasRoom(core: CoreState, progress: Progress): boolean {
  if (progress.mode === 'probe') return !progress.probing;
  return (
    progress.inflightMessages < core.config.maxInflightMessages && progress.inflightBytes < core.config.maxInflightBytes
  );
}

function sendAppends(core: CoreState, peer: ServerId, progress: Progress): void {
  while (!progress.reading && hasRoom(core, progress)) {
    const probeEmpty = progress.mode === 'probe';
    if (progress.next > core.log.lastIndex && !probeEmpty) return;
    const entries = core.log.slice(progress.next, core.log.lastIndex, core.config.maxAppendBytes);
    if (entries === undefined) {
      requestEntries(core, peer, progress);
      return;
    }
    sendAppend(core, peer, progress, entries);
  }
}

function sendAppend(core: CoreState, peer: ServerId, progress: Progress, entries: readonly Entry[]): void {
  const prevIndex = previousIndex(progress.next);
  const prevTerm = core.log.termAt(prevIndex);
  invariant(prevTerm !== undefined, 'the-entry-before-an-append-is-known');
  core.send(peer, { type: 'append', term: core.term, prevIndex, prevTerm, commit: core.commit, entries });
  let bytes = 0;
  for (const entry of entries) bytes += entry.data.length;
  const lastIndex = logIndex(prevIndex + entries.length);
  progress.sent(lastIndex, bytes);
  if (progress.mode === 'replicate') progress.sentCommit = minIndex(core.commit, lastIndex);
}

function requestEntries(core: CoreState, peer: ServerId, progress: Progress): void {
  progress.reading = true;
  core.effect({
    type: 'read-entries',
    peer,
    term: core.term,
    from: progress.next,
    to: previousIndex(core.log.tailFirst),
    maxBytes: core.config.maxAppendBytes,
  });
}
