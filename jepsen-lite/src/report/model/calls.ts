/** The calls of a run as columns: a lane for each client, as many rows as it has calls open at a time. */

import { MAX_CALLS, MAX_LANES, MAX_ROWS_OF_A_LANE } from '../limits.ts';
import { pack } from '../timeline/pack.ts';
import { STATUSES, type CallColumns, type Lane, type Status } from '../timeline/page-data.ts';
import { answered, asked } from '../words/events.ts';
import { byName, visible } from '../words/text.ts';
import { callsOf, type Call } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';

export interface CallModel {
  readonly lanes: readonly Lane[];
  /** Of all clients, in the order of their lanes. */
  readonly names: readonly string[];
  readonly calls: CallColumns;
  readonly texts: readonly string[];
  /** Where each call is, by its number. */
  readonly places: ReadonlyMap<number, { readonly lane: number; readonly row: number; readonly place: number }>;
  readonly leftOut: { readonly calls: number; readonly lanes: number };
}

interface Bar {
  readonly call: Call;
  readonly startMs: number;
  readonly endMs: number;
}

/** @param focus clients that come first, and when what failed happened */
export function callModel(
  history: History,
  focus: { readonly processes: readonly string[]; readonly atMs: number | undefined },
  maxCalls = MAX_CALLS,
): CallModel {
  const all = callsOf(history);
  const endMs = history.at(-1)?.timeMs ?? 0;
  const byClient = new Map<string, Bar[]>();
  const kept = nearest(all, focus.atMs, maxCalls);
  for (const call of kept) {
    const { process, timeMs: startMs } = call.invoke;
    const bars = byClient.get(process) ?? [];
    if (bars.length === 0) byClient.set(process, bars);
    bars.push({ call, startMs, endMs: Math.max(call.completion?.timeMs ?? endMs, startMs) });
  }
  const names = orderOf([...byClient.keys()], focus.processes);
  const texts = new Texts();
  const columns = emptyColumns();
  const places: Map<number, { lane: number; row: number; place: number }> = new Map();
  let leftOut = all.length - kept.length;
  const lanes = names.slice(0, MAX_LANES).map((name, lane): Lane => {
    const packed = pack(byClient.get(name) ?? [], MAX_ROWS_OF_A_LANE);
    const firstRow = columns.rowStarts.length;
    leftOut += packed.leftOut;
    for (const [row, bars] of packed.rows.entries()) {
      columns.rowStarts.push(columns.startMs.length);
      for (const bar of bars) {
        places.set(bar.call.invoke.call, { lane, row, place: columns.startMs.length });
        addTo(columns, bar, texts);
      }
    }
    const calls = packed.rows.reduce((sum, { length }) => sum + length, 0);
    return { name: visible(name), firstRow, rows: packed.rows.length, calls };
  });
  columns.rowStarts.push(columns.startMs.length);
  for (const name of names.slice(MAX_LANES)) leftOut += byClient.get(name)?.length ?? 0;
  const lanesLeftOut = Math.max(names.length - MAX_LANES, 0);
  return { lanes, names, calls: columns, texts: texts.list, places, leftOut: { calls: leftOut, lanes: lanesLeftOut } };
}

/** Those that are named come first, in that order, then the others. */
export function orderOf(names: readonly string[], first: readonly string[]): string[] {
  const front = [...new Set(first)].filter((name) => names.includes(name));
  return [...front, ...names.filter((name) => !front.includes(name)).toSorted(byName)];
}

function statusOf({ completion }: Call): Status {
  return completion?.type ?? 'open';
}

/** To the microsecond, which no reader sees and no file should carry the digits of. */
export function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function nearest(calls: readonly Call[], atMs: number | undefined, max: number): readonly Call[] {
  if (calls.length <= max) return calls;
  const after = atMs === undefined ? 0 : calls.findIndex(({ invoke }) => invoke.timeMs >= atMs);
  const middle = after < 0 ? calls.length : after;
  const first = Math.min(Math.max(middle - max / 2, 0), calls.length - max);
  return calls.slice(first, first + max);
}

/** Each text once. */
class Texts {
  readonly list: string[] = [];
  readonly #places = new Map<string, number>();

  placeOf(text: string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const place = this.list.push(text) - 1;
    this.#places.set(text, place);
    return place;
  }
}

type Columns = { readonly [K in keyof CallColumns]: number[] };

function emptyColumns(): Columns {
  return { startMs: [], lengthMs: [], status: [], asked: [], answered: [], seq: [], rowStarts: [] };
}

function addTo(columns: Columns, { call, startMs, endMs }: Bar, texts: Texts): void {
  columns.startMs.push(rounded(startMs));
  columns.lengthMs.push(rounded(endMs - startMs));
  columns.status.push(STATUSES.indexOf(statusOf(call)));
  columns.asked.push(texts.placeOf(asked(call.invoke)));
  columns.answered.push(texts.placeOf(answered(call)));
  columns.seq.push(call.invoke.seq);
}
