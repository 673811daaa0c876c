/** The follower's side of replication: appends, heartbeats, news of commits (thesis 3.5, 3.6.2). */

import type { CoreState } from '../core-state.ts';
import { invariant } from '../invariant.ts';
import { becomeFollower } from '../roles/transitions.ts';
import {
  logIndex,
  maxIndex,
  minIndex,
  type Entry,
  type LogIndex,
  type MessageOf,
  type ServerId,
  type Term,
} from '../types.ts';

export function onAppend(core: CoreState, from: ServerId, message: MessageOf<'append'>): void {
  if (!hearLeader(core, from, message.term)) {
    // Teaches a deposed leader the term. Names no index: should it lead this very term when the answer comes, nothing is refused.
    refuse(core, from, logIndex(0), logIndex(0), 0 as Term);
    return;
  }
  const { base } = core.log;
  if (message.prevIndex < base.index) {
    // What a snapshot holds is committed, so the leader has it too.
    const known = base.index - message.prevIndex;
    acceptEntries(core, from, message, { prevIndex: base.index, entries: message.entries.slice(known) });
    return;
  }
  if (core.log.termAt(message.prevIndex) !== message.prevTerm) {
    const hint = core.log.lastIndexWithTermAtMost(minIndex(message.prevIndex, core.log.lastIndex), message.prevTerm);
    refuse(core, from, message.prevIndex, hint, core.log.termAt(hint) ?? (0 as Term));
    return;
  }
  acceptEntries(core, from, message, message);
}

function acceptEntries(
  core: CoreState,
  from: ServerId,
  message: MessageOf<'append'>,
  { prevIndex, entries }: Pick<MessageOf<'append'>, 'prevIndex' | 'entries'>,
): void {
  appendEntries(core, entries);
  // Only what this message showed to agree is acknowledged and committed. The log may go on with entries of a deposed leader:
  //     here    1 1 2 2      after an append behind entry 2, without entries, that says commit 3, entry 3 is not committed here: it
  //     leader  1 1 3        is another one than the leader's
  const verified = logIndex(prevIndex + entries.length);
  core.advanceCommit(minIndex(message.commit, verified));
  const earlier = core.pendingAck?.term === core.term ? core.pendingAck.index : verified;
  core.pendingAck = { to: from, term: core.term, index: maxIndex(earlier, verified) };
}

/** One answer for all appends of a group. It waits for every write so far: an entry may be here already and not yet durable. */
export function sendAck(core: CoreState): void {
  const ack = core.pendingAck;
  if (ack === undefined) return;
  core.pendingAck = undefined;
  // In a newer term nobody waits for it; in this one it is owed, even if this server gave its leader up meanwhile.
  if (core.term !== ack.term) return;
  core.send(
    ack.to,
    {
      type: 'append-response',
      term: core.term,
      accepted: true,
      index: ack.index,
      hintTerm: 0 as Term,
      refusedIndex: logIndex(0),
      eagerCommit: core.eagerCommit,
    },
    core.writes.lastSeq,
  );
}

export function onHeartbeat(core: CoreState, from: ServerId, message: MessageOf<'heartbeat'>): void {
  if (hearLeader(core, from, message.term)) followCommit(core, message.commit);
  core.send(from, {
    type: 'heartbeat-response',
    term: core.term,
    round: message.round,
    eagerCommit: core.eagerCommit,
  });
}

export function onCommit(core: CoreState, from: ServerId, message: MessageOf<'commit'>): void {
  if (hearLeader(core, from, message.term)) followCommit(core, message.commit);
}

/** False for a leader of an older term. */
function hearLeader(core: CoreState, from: ServerId, messageTerm: Term): boolean {
  if (messageTerm < core.term) return false;
  invariant(
    messageTerm > core.term || core.role.type !== 'leader',
    'one-leader-a-term',
    () => `term ${messageTerm}: ${core.config.id} and ${from}`,
  );
  const { role } = core;
  const follows = messageTerm === core.term && role.type === 'follower' && role.leader === from;
  const { timer } = follows ? role : becomeFollower(core, messageTerm, from);
  timer.elapsedMs = 0;
  return true;
}

/** A leader tells at most what this server acknowledged to it, so that the entries are the leader's. */
function followCommit(core: CoreState, commit: LogIndex): void {
  core.advanceCommit(minIndex(commit, core.log.lastIndex));
}

function appendEntries(core: CoreState, entries: readonly Entry[]): void {
  for (const entry of entries) {
    const present = core.log.termAt(entry.index);
    // An old message repeats what is here: nothing is removed unless it conflicts.
    if (present === entry.term) continue;
    if (present !== undefined) core.truncateFrom(entry.index);
    core.appendEntry(entry);
  }
}

function refuse(core: CoreState, to: ServerId, refusedIndex: LogIndex, index: LogIndex, hintTerm: Term): void {
  core.send(to, {
    type: 'append-response',
    term: core.term,
    accepted: false,
    index,
    hintTerm,
    refusedIndex,
    eagerCommit: core.eagerCommit,
  });
}
