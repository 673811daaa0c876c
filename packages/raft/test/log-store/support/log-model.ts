/** What a log must hold: the obvious implementation, and batches made to fit it. */

import {
  EntryType,
  LOG_START,
  logIndex,
  NO_SERVER,
  serverId,
  term,
  type DurableState,
  type Entry,
  type HardState,
  type LogIndex,
  type TermRun,
} from '../../../src/core/index.ts';
import type { LogStore, WriteBatch } from '../../../src/log-store/contract/log-store.ts';

export interface LogModel {
  readonly hardState: HardState;
  readonly entries: readonly Entry[];
}

export const EMPTY_MODEL: LogModel = { hardState: { term: term(0), votedFor: NO_SERVER }, entries: [] };

/** A batch as a generator makes it, before it is known which log it meets. */
export interface BatchPlan {
  readonly termStep: number;
  readonly vote: number;
  /** How many entries to cut off the end. */
  readonly cut: number;
  readonly sizes: readonly number[];
}

export function planned({ termStep, vote, cut, sizes }: BatchPlan, { hardState, entries }: LogModel): WriteBatch {
  const newTerm = term(hardState.term + termStep);
  const next: HardState = { term: newTerm, votedFor: serverId(vote) };
  const changed = termStep > 0 || hardState.term === 0;
  const keep = Math.max(0, entries.length - cut);
  const current = changed ? term(Math.max(1, newTerm)) : hardState.term;
  return {
    ...(changed ? { hardState: { ...next, term: current } } : {}),
    ...(cut > 0 ? { truncateFrom: logIndex(keep + 1) } : {}),
    entries: sizes.map((size, at) => entry(keep + 1 + at, current, size)),
  };
}

export function after(model: LogModel, { hardState, truncateFrom, entries }: WriteBatch): LogModel {
  const kept = truncateFrom === undefined ? model.entries : model.entries.slice(0, truncateFrom - 1);
  return { hardState: hardState ?? model.hardState, entries: [...kept, ...entries] };
}

/** Data that differs by index and term, so that one entry cannot stand in for another. */
export function entry(index: number, entryTerm: number, size = 8): Entry {
  const data = new Uint8Array(size);
  for (let at = 0; at < size; at += 1) data[at] = (index * 31 + entryTerm * 17 + at * 7 + 1) % 256;
  return { index: logIndex(index), term: term(entryTerm), type: typeOf(index, size), data };
}

function typeOf(index: number, size: number): EntryType {
  if (size === 0) return EntryType.noop;
  return index % 5 === 3 ? EntryType.configuration : EntryType.command;
}

export function entryRange(first: number, last: number, entryTerm: number, size = 8): Entry[] {
  return Array.from({ length: last - first + 1 }, (_, at) => entry(first + at, entryTerm, size));
}

export function vote(inTerm: number, votedFor = 1): HardState {
  return { term: term(inTerm), votedFor: serverId(votedFor) };
}

export function durableStateOf({ hardState, entries }: LogModel): DurableState {
  const terms: TermRun[] = [];
  for (const { index, term: entryTerm } of entries) {
    if (entryTerm !== terms.at(-1)?.term) terms.push({ term: entryTerm, firstIndex: index });
  }
  const configurations = entries
    .filter(({ type }) => type === EntryType.configuration)
    .map(({ index, data }) => ({ index, data }));
  const lastIndex = entries.at(-1)?.index ?? logIndex(0);
  return { hardState, base: LOG_START, lastIndex, terms, snapshot: undefined, configurations };
}

/** The whole log as the store has it, read in small pieces. */
export async function contentOf(store: LogStore, lastIndex: LogIndex = store.durable.lastIndex): Promise<Entry[]> {
  const entries: Entry[] = [];
  const before = store.firstIndex - 1;
  while (before + entries.length < lastIndex) {
    const next = before + entries.length + 1;
    const found = await store.read(logIndex(next), lastIndex, 1_000);
    if (found.length === 0) throw new Error(`nothing at index ${next} of ${lastIndex}`);
    entries.push(...found.map((one) => ({ ...one, data: Uint8Array.from(one.data) })));
  }
  return entries;
}

export async function modelOf(store: LogStore): Promise<LogModel> {
  return { hardState: store.durable.hardState, entries: await contentOf(store) };
}
