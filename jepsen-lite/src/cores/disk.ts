/**
 * What a server has on its disk, as a value that never changes: term and vote, the log behind a base, and the newest snapshot, whose
 * state is all that was applied up to it, so that the log is known from the beginning, whatever of it was forgotten.
 */

import {
  EntryType,
  LOG_START,
  NO_SERVER,
  logIndex,
  maxTerm,
  nextTerm,
  type DurableState,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type Term,
  type TermRun,
  type Effect,
  type SnapshotPosition,
} from '@holdfast/raft/core';

export type Persist = Extract<Effect, { type: 'persist' }>;

/** A snapshot whose state is everything that was applied up to it. */
export interface Snapshot {
  readonly position: SnapshotPosition;
  readonly state: readonly Entry[];
}

export interface Disk {
  readonly hardState: HardState;
  readonly base: LogPosition;
  /** Behind the base. */
  readonly entries: readonly Entry[];
  readonly snapshot: Snapshot | undefined;
  /** The log has lost what was acknowledged; the server may not vote since this term. */
  readonly voteBan: Term | undefined;
}

export const EMPTY_DISK: Disk = {
  hardState: { term: 0 as Term, votedFor: NO_SERVER },
  base: LOG_START,
  entries: [],
  snapshot: undefined,
  voteBan: undefined,
};

export function written(disk: Disk, { hardState, snapshot, truncateFrom, entries }: Persist): Disk {
  let { base, entries: log } = disk;
  if (snapshot !== undefined) [base, log] = [snapshot, []];
  if (truncateFrom !== undefined) log = log.slice(0, Math.max(0, truncateFrom - 1 - base.index));
  return { ...disk, hardState: hardState ?? disk.hardState, base, entries: [...log, ...entries] };
}

/** Unless there is a newer one. */
export function withSnapshot(disk: Disk, snapshot: Snapshot): Disk {
  return snapshot.position.index > (disk.snapshot?.position.index ?? 0) ? { ...disk, snapshot } : disk;
}

export function compacted(disk: Disk, upTo: LogIndex): Disk {
  const last = disk.entries[upTo - disk.base.index - 1];
  if (last === undefined) return disk;
  const base = { index: last.index, term: last.term };
  return { ...disk, base, entries: disk.entries.slice(upTo - disk.base.index) };
}

/** None that were forgotten. */
export function entriesOn({ base, entries }: Disk, from: LogIndex, to: LogIndex): readonly Entry[] {
  return from <= base.index ? [] : entries.slice(from - base.index - 1, to - base.index);
}

/**
 * The log has lost all but `kept` of the entries behind its base, and the vote with them. The ban begins above every term in which the
 * server can have told anybody anything.
 */
export function damaged(disk: Disk, kept: number): Disk {
  const entries = disk.entries.slice(0, kept);
  const term = entries.at(-1)?.term ?? disk.base.term;
  const voteBan = nextTerm(maxTerm(disk.hardState.term, disk.voteBan ?? disk.hardState.term));
  return { ...disk, hardState: { term, votedFor: NO_SERVER }, entries, voteBan };
}

/** From the beginning, with `writes` that are on their way to the disk. */
export function wholeLog(disk: Disk, writes: readonly Persist[]): readonly Entry[] {
  const before = ({ index }: LogPosition): readonly Entry[] => disk.snapshot?.state.slice(0, index) ?? [];
  const log = [...before(disk.base), ...disk.entries];
  for (const { snapshot, truncateFrom, entries } of writes) {
    if (snapshot !== undefined) log.splice(0, log.length, ...before(snapshot));
    if (truncateFrom !== undefined) log.length = Math.min(log.length, truncateFrom - 1);
    log.push(...entries);
  }
  return log;
}

/** A snapshot that was received, and that the log does not go on from, takes the log's place at a start. */
export function atStart(disk: Disk): Disk {
  const position = disk.snapshot?.position;
  if (position === undefined) return disk;
  const { index, term } = position;
  const found = index === disk.base.index ? disk.base.term : disk.entries[index - disk.base.index - 1]?.term;
  if (found === term) return disk;
  const hardState = disk.hardState.term < term ? { term, votedFor: NO_SERVER } : disk.hardState;
  return { ...disk, hardState, base: { index, term }, entries: [] };
}

export function bootFrom({ hardState, base, entries, snapshot, voteBan }: Disk): DurableState {
  const terms: TermRun[] = [];
  for (const { term, index } of entries) {
    if (terms.at(-1)?.term !== term) terms.push({ term, firstIndex: index });
  }
  return {
    hardState,
    base,
    lastIndex: logIndex(base.index + entries.length),
    terms,
    snapshot: snapshot?.position,
    ...(voteBan === undefined ? {} : { voteBan }),
    configurations: entries.filter(({ type }) => type === EntryType.configuration),
  };
}
