/** Where in the Raft log a finding belongs: the indexes that its events name, or how far the log had come when the last of them happened. */

import type { History, HistoryEvent } from '../../history/history.ts';
import type { LogLine } from '../../history/log-line.ts';
import { eventAt } from './witness.ts';

export interface LogPlace {
  /** Around which entries are shown. */
  readonly index: number;
  /** That the events name, rising. */
  readonly named: readonly number[];
}

/** Entries that are shown before an index, and as many behind it. */
const AROUND = 8;

/** @param seqs the numbers of the events, rising; none: the end of the history. Undefined where nothing before tells of the log. */
export function logPlaceOf(history: History, seqs: readonly number[]): LogPlace | undefined {
  const events = seqs.flatMap((seq) => eventAt(history, seq) ?? []);
  const named = [...new Set(events.flatMap(indexesOf))].sort((left, right) => left - right);
  const last = events.at(-1) ?? history.at(-1);
  if (last === undefined) return undefined;
  for (let place = placeOf(history, last.seq); place >= 0; place -= 1) {
    const [index] = indexesOf(history[place]).slice(-1);
    if (index !== undefined) return { index, named };
  }
  return undefined;
}

/** Of lines in the order of their indexes. */
export function linesAround<Line extends { readonly index: number }>(
  lines: readonly Line[],
  { index }: LogPlace,
): Line[] {
  return lines.filter((line) => Math.abs(line.index - index) <= AROUND);
}

export function logText(lines: readonly LogLine[], place: LogPlace): string {
  const shown = linesAround(lines, place);
  const width = String(shown.at(-1)?.index ?? 0).length;
  return shown
    .map(({ index, term, text }) => {
      const mark = place.named.includes(index) ? '>' : ' ';
      return `${mark} ${String(index).padStart(width)}  term ${term}  ${text}`;
    })
    .join('\n');
}

/** A token is the index of the entry that granted, and a hold that of the acquire. */
function indexesOf(event: HistoryEvent | undefined): number[] {
  if (event === undefined) return [];
  if ('index' in event) return [event.index];
  if (event.type === 'ok' && event.f === 'acquire')
    return event.hold === event.token ? [event.token] : [event.hold, event.token];
  return [];
}

function placeOf(history: History, seq: number): number {
  return history[seq - 1]?.seq === seq ? seq - 1 : history.findIndex((event) => event.seq === seq);
}
