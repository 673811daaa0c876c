import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bucketsOf } from '../../../src/report/timeline/buckets.ts';
import { callsInView, laneOf } from '../../../src/report/timeline/columns.ts';
import { pack } from '../../../src/report/timeline/pack.ts';
import { layOut, rowAt, rowOf, scrollFor } from '../../../src/report/timeline/rows.ts';
import { pageModel } from '../../../src/report/model/page-model.ts';
import { Story } from '../../support/story.ts';

function data(clients = 3) {
  const story = new Story();
  for (let n = 1; n <= clients; n += 1) {
    const open = story.ask({ f: 'get', bucket: 'b', key: 'k' }, `c${n}`);
    story.pass(10);
    story.ask({ f: 'get', bucket: 'b', key: 'l' }, `c${n}`).fail('TIMEOUT');
    story.pass(10);
    open.ok({ value: null });
    story.pass(10);
    story.ask({ f: 'get', bucket: 'b', key: 'm' }, `c${n}`).info();
  }
  return pageModel({ title: 't', target: 't', history: story.history, verdicts: [] }).data;
}

describe('intervals on rows', () => {
  it('never overlap, are all there, and take as few rows as there are at a time', () => {
    const interval = fc.tuple(fc.nat(100), fc.nat(30));
    fc.assert(
      fc.property(fc.array(interval), (drawn) => {
        const intervals = drawn
          .map(([startMs, length]) => ({ startMs, endMs: startMs + length + 1 }))
          .toSorted((a, b) => a.startMs - b.startMs);
        const { rows, leftOut } = pack(intervals, 1_000);
        expect(leftOut).toBe(0);
        expect(rows.flat()).toHaveLength(intervals.length);
        for (const row of rows) {
          for (const [place, { startMs }] of row.entries()) {
            expect(startMs).toBeGreaterThanOrEqual(row[place - 1]?.endMs ?? 0);
          }
        }
        const most = Math.max(
          0,
          ...intervals.map(
            ({ startMs }) => intervals.filter((other) => other.startMs <= startMs && other.endMs > startMs).length,
          ),
        );
        expect(rows).toHaveLength(most);
      }),
    );
  });

  it('are left out and counted where there are more at a time than rows', () => {
    const intervals = Array.from({ length: 5 }, () => ({ startMs: 0, endMs: 1 }));
    expect(pack(intervals, 3)).toMatchObject({ rows: [{ length: 1 }, { length: 1 }, { length: 1 }], leftOut: 2 });
  });
});

describe('the rows of a page', () => {
  it('follow one another without a gap in what they are, and are found by height', () => {
    const page = data();
    const layout = layOut(page);
    for (const [place, row] of layout.rows.entries()) {
      const before = layout.rows[place - 1];
      expect(row.top).toBeGreaterThanOrEqual(before === undefined ? 0 : before.top + before.height);
      expect(rowAt(layout, row.top + 1)).toBe(row);
    }
    expect(layout.rows.filter(({ kind }) => kind === 'lane')).toHaveLength(
      page.lanes.reduce((sum, { rows }) => sum + rows, 0),
    );
    expect(rowOf(layout, { track: 'lane', place: 1, row: 1 })).toMatchObject({ kind: 'lane', place: 1, row: 1 });
    expect(rowOf(layout, { track: 'run', place: 0, row: 0 })).toBeUndefined();
  });

  it('say what is missing where there is nothing to draw', () => {
    const { rows } = layOut(pageModel({ title: 't', target: 't', history: [], verdicts: [] }).data);
    expect(rows.map((row) => (row.kind === 'heading' ? row.note : ''))).toEqual([
      'none began',
      'this history does not tell who led',
      'no lock was held',
      'nobody called anything',
    ]);
  });

  it('are scrolled so that those that failed are in the window, and no further', () => {
    const layout = layOut(data(30));
    const lanes = layout.rows.filter(({ kind }) => kind === 'lane');
    const wanted = lanes.slice(20, 23);
    const scroll = scrollFor(wanted, 200, layout);
    for (const { top, height } of wanted) {
      expect(top).toBeGreaterThanOrEqual(scroll);
      expect(top + height).toBeLessThanOrEqual(scroll + 200);
    }
    expect(scrollFor(lanes.slice(0, 1), 400, layout)).toBe(0);
    expect(scrollFor(lanes.slice(-1), 400, layout)).toBeLessThanOrEqual(layout.height - 400);
    expect(scrollFor([], 400, layout)).toBe(0);
  });
});

describe('calls in their columns', () => {
  it('are found by what is in view, as looking at each of them finds them', () => {
    const page = data(4);
    const { calls } = page;
    for (let row = 0; row < calls.rowStarts.length - 1; row += 1) {
      for (const [fromMs, toMs] of [
        [0, 200],
        [35, 60],
        [10, 10],
        [500, 600],
      ] as const) {
        const [first, end] = callsInView(page, row, { fromMs, toMs });
        const inRow = [...calls.startMs.keys()].filter(
          (call) => call >= (calls.rowStarts[row] ?? 0) && call < (calls.rowStarts[row + 1] ?? 0),
        );
        const seen = inRow.filter((call) => {
          const startMs = calls.startMs[call] ?? 0;
          return startMs <= toMs && startMs + (calls.lengthMs[call] ?? 0) >= fromMs;
        });
        expect(Array.from({ length: Math.max(end - first, 0) }, (_, n) => first + n)).toEqual(seen);
      }
    }
    expect(laneOf(page, 0)).toEqual({ lane: 0, row: 0 });
    expect(laneOf(page, calls.startMs.length - 1)).toEqual({ lane: 3, row: 1 });
  });

  it('are summed up over time by status, with the latencies of those that were ok', () => {
    const { calls, startMs, endMs } = data(3);
    const sums = bucketsOf(calls, { fromMs: startMs, toMs: endMs + 1 }, 4);
    const totals = sums.begun.map((counts) => counts.reduce((sum, count) => sum + count, 0));
    expect(totals).toEqual([3, 3, 3, 0]);
    expect(Math.max(...sums.maxMs)).toBe(20);
    expect(sums.medianMs[0]).toBeGreaterThan(16);
    expect(sums.medianMs[0]).toBeLessThanOrEqual(20);
  });
});
