/** Finds calls in their columns. */

import type { PageData } from './page-data.ts';
import type { View } from './viewport.ts';

/** The calls of a row never overlap, so that those in view are neighbours. */
export function callsInView({ calls }: PageData, row: number, { fromMs, toMs }: View): readonly [number, number] {
  const first = calls.rowStarts[row] ?? 0;
  const end = calls.rowStarts[row + 1] ?? 0;
  const find = (isAfter: (call: number) => boolean): number => {
    let low = first;
    let high = end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isAfter(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const begins = (call: number): number => calls.startMs[call] ?? 0;
  return [find((call) => begins(call) + (calls.lengthMs[call] ?? 0) >= fromMs), find((call) => begins(call) > toMs)];
}

/** On which row of which lane a call is. */
export function laneOf({ lanes, calls }: PageData, call: number): { readonly lane: number; readonly row: number } {
  let row = 0;
  while ((calls.rowStarts[row + 1] ?? Infinity) <= call) row += 1;
  const lane = lanes.findIndex(({ firstRow, rows }) => row >= firstRow && row < firstRow + rows);
  return { lane, row: row - (lanes[lane]?.firstRow ?? 0) };
}
