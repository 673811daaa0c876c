/** Puts intervals on as few rows as it takes that none overlap on a row. */

export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/** Intervals come in the order of their beginnings. Those for which there is no row within `maxRows` are left out, and counted. */
export function pack<T extends Interval>(
  intervals: Iterable<T>,
  maxRows: number,
): { readonly rows: readonly (readonly T[])[]; readonly leftOut: number } {
  const rows: T[][] = [];
  const ends: number[] = [];
  let leftOut = 0;
  for (const interval of intervals) {
    let place = ends.findIndex((endMs) => endMs <= interval.startMs);
    if (place < 0 && rows.length < maxRows) place = rows.push([]) - 1;
    if (place < 0) {
      leftOut += 1;
      continue;
    }
    rows[place]?.push(interval);
    ends[place] = interval.endMs;
  }
  return { rows, leftOut };
}
