/** What a bare core's disk holds, as strict as a log store: what the core asks of it in vain breaks a promise. */

import {
  EntryType,
  NO_SERVER,
  logIndex,
  type DurableState,
  type Effect,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type SnapshotPosition,
  type TermRun,
} from '../../../src/core/index.ts';
import { BrokenPromise } from './broken-promise.ts';

export type Persist = Extract<Effect, { type: 'persist' }>;

export interface CoreDisk {
  hardState: HardState;
  base: LogPosition;
  snapshot: SnapshotPosition | undefined;
  /** Those behind the base. */
  entries: Entry[];
}

export function writeTo(disk: CoreDisk, persist: Persist): void {
  const { hardState, snapshot, truncateFrom, entries } = persist;
  if (hardState !== undefined) disk.hardState = hardState;
  if (snapshot !== undefined) {
    if ((disk.snapshot?.index ?? 0) < snapshot.index) throw new BrokenPromise('a log that begins behind no snapshot');
    disk.base = snapshot;
    disk.entries = [];
  }
  if (truncateFrom !== undefined) {
    if (truncateFrom > lastIndexOf(disk)) throw new BrokenPromise('a truncation beyond the end of the log');
    if (truncateFrom <= disk.base.index) throw new BrokenPromise('a truncation of what a snapshot holds');
    disk.entries.length = truncateFrom - 1 - disk.base.index;
  }
  for (const entry of entries) {
    if (entry.index !== lastIndexOf(disk) + 1) throw new BrokenPromise('a write leaves a gap in the log');
    disk.entries.push(entry);
  }
}

function lastIndexOf({ base, entries }: CoreDisk): LogIndex {
  return logIndex(base.index + entries.length);
}

export function entriesOf({ base, entries }: CoreDisk, from: number, to: number): Entry[] {
  return from <= base.index ? [] : entries.slice(from - base.index - 1, to - base.index);
}

export function compactDisk(disk: CoreDisk, upTo: LogIndex): void {
  if ((disk.snapshot?.index ?? 0) < upTo) throw new BrokenPromise('entries are forgotten that no snapshot holds');
  const last = disk.entries[upTo - disk.base.index - 1];
  if (upTo <= disk.base.index) return;
  if (last === undefined) throw new BrokenPromise('entries are forgotten that are not on disk');
  disk.entries.splice(0, upTo - disk.base.index);
  disk.base = { index: last.index, term: last.term };
}

/** What a log store does at a start with a received snapshot that the log does not go on from. */
export function restartLog(disk: CoreDisk): void {
  const { snapshot, base, entries } = disk;
  if (snapshot === undefined) return;
  const found = snapshot.index === base.index ? base.term : entries[snapshot.index - base.index - 1]?.term;
  if (found === snapshot.term) return;
  disk.base = snapshot;
  disk.entries = [];
  if (disk.hardState.term < snapshot.term) disk.hardState = { term: snapshot.term, votedFor: NO_SERVER };
}

/** What a start finds. */
export function bootOf(disk: CoreDisk): DurableState {
  const terms: TermRun[] = [];
  for (const entry of disk.entries) {
    if (terms.at(-1)?.term !== entry.term) terms.push({ term: entry.term, firstIndex: entry.index });
  }
  const { hardState, base, snapshot } = disk;
  const configurations = disk.entries.filter(({ type }) => type === EntryType.configuration);
  return { hardState, base, lastIndex: lastIndexOf(disk), terms, snapshot, configurations };
}
