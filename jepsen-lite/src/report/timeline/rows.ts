/** Where each row of the timeline is: headings, faults, leaders, holders of locks, calls of clients, from top to bottom. */

import type { PageData } from './page-data.ts';

export type Row = { readonly top: number; readonly height: number } & (
  | { readonly kind: 'heading'; readonly text: string; readonly note: string }
  | { readonly kind: 'fault'; readonly place: number }
  | { readonly kind: 'leader'; readonly row: number }
  | { readonly kind: 'lock' | 'lane'; readonly place: number; readonly row: number }
);

const HEIGHTS = { heading: 26, fault: 15, leader: 20, lock: 26, lane: 17 } as const;
/** Below the last row of a client. */
const AFTER_LANE = 5;
const AFTER_LAST = 10;

/** In the distributive sense, so that each kind keeps its own fields. */
type Unplaced<R> = R extends Row ? Omit<R, 'top' | 'height'> : never;

export interface Layout {
  readonly rows: readonly Row[];
  readonly height: number;
}

export function layOut({ faults, leaders, locks, lanes }: PageData): Layout {
  const rows: Row[] = [];
  let top = 0;
  const add = (row: Unplaced<Row>, after = 0): void => {
    rows.push({ ...row, top, height: HEIGHTS[row.kind] } as Row);
    top += HEIGHTS[row.kind] + after;
  };
  const heading = (text: string, note: string): void => add({ kind: 'heading', text, note });

  heading('Faults', faults.length === 0 ? 'none began' : '');
  for (const place of faults.keys()) add({ kind: 'fault', place });
  heading('Leader and term', leaders.length === 0 ? 'this history does not tell who led' : '');
  for (const row of leaders.keys()) add({ kind: 'leader', row });
  heading('Holders', locks.length === 0 ? 'no lock was held' : '');
  for (const [place, lock] of locks.entries()) {
    for (const row of lock.rows.keys()) add({ kind: 'lock', place, row });
  }
  heading('Clients', lanes.length === 0 ? 'nobody called anything' : '');
  for (const [place, lane] of lanes.entries()) {
    for (let row = 0; row < lane.rows; row += 1) {
      add({ kind: 'lane', place, row }, row === lane.rows - 1 ? AFTER_LANE : 0);
    }
  }
  return { rows, height: top + AFTER_LAST };
}

/** The row that is at this height. */
export function rowAt({ rows }: Layout, y: number): Row | undefined {
  return rows.find(({ top, height }) => y >= top && y < top + height);
}

/** The row on which something of that track is drawn; undefined for what happened to the run as a whole. */
export function rowOf(
  { rows }: Layout,
  where: { readonly track: 'lane' | 'lock' | 'leaders' | 'run'; readonly place: number; readonly row: number },
): Row | undefined {
  return rows.find((row) => {
    if (where.track === 'leaders') return row.kind === 'leader' && row.row === where.row;
    return row.kind === where.track && row.place === where.place && row.row === where.row;
  });
}

/** From where to show rows of a window of this height, so that all of these are in it, if they can be: as far up as that allows. */
export function scrollFor(rows: readonly Row[], windowHeight: number, layout: Layout): number {
  if (rows.length === 0) return 0;
  const top = Math.min(...rows.map((row) => row.top));
  const bottom = Math.max(...rows.map((row) => row.top + row.height));
  const least = bottom + HEIGHTS.heading - windowHeight;
  return Math.max(0, Math.min(top, Math.max(least, 0), Math.max(layout.height - windowHeight, 0)));
}
