import { describe, expect, it } from 'vitest';

import { duration, ticks, time, whole } from '../../../src/report/timeline/ticks.ts';
import {
  around,
  clamp,
  MIN_SPAN_MS,
  msAt,
  pan,
  spanOf,
  wholeRun,
  xOf,
  zoom,
} from '../../../src/report/timeline/viewport.ts';

const bounds = wholeRun({ startMs: 0, endMs: 10_000 });

describe('what is in view', () => {
  it('stays where the pointer is, when it is zoomed', () => {
    const before = { fromMs: 1_000, toMs: 3_000 };
    const after = zoom(before, bounds, 0.5, 1_500);
    expect(spanOf(after)).toBe(1_000);
    expect(xOf(after, 800, 1_500)).toBeCloseTo(xOf(before, 800, 1_500));
  });

  it('never leaves the run, nor becomes narrower than there is something to see', () => {
    expect(clamp({ fromMs: -5_000, toMs: 0 }, bounds)).toEqual({ fromMs: bounds.fromMs, toMs: bounds.fromMs + 5_000 });
    expect(zoom(bounds, bounds, 100, 5_000)).toEqual(bounds);
    expect(spanOf(zoom({ fromMs: 5, toMs: 6 }, bounds, 1e-6, 5.5))).toBe(MIN_SPAN_MS);
    expect(pan({ fromMs: 9_000, toMs: 10_000 }, bounds, 5).toMs).toBeCloseTo(bounds.toMs);
  });

  it('has all of what failed in it, with room on both sides', () => {
    const view = around([2_000, 2_400], bounds);
    expect(view.fromMs).toBeLessThan(2_000);
    expect(view.toMs).toBeGreaterThan(2_400);
    expect(spanOf(view)).toBeLessThan(1_000);
    expect(spanOf(around([2_000], bounds))).toBeGreaterThan(10);
  });

  it('finds the time of a place, and back', () => {
    const view = { fromMs: 100, toMs: 300 };
    expect(msAt(view, 500, xOf(view, 500, 170))).toBeCloseTo(170);
  });

  it('is there for a run in which nothing took any time', () => {
    expect(spanOf(wholeRun({ startMs: 7, endMs: 7 }))).toBeGreaterThan(0);
  });
});

describe('the axis', () => {
  it('has round numbers, with as many places as they need', () => {
    expect(ticks({ fromMs: 0, toMs: 10_000 }, 1_000).map(({ label }) => label)).toEqual([
      '0 s',
      '2 s',
      '4 s',
      '6 s',
      '8 s',
      '10 s',
    ]);
    expect(ticks({ fromMs: 30_210, toMs: 30_260 }, 500, 110).map(({ label }) => label)).toEqual([
      '30.22 s',
      '30.24 s',
      '30.26 s',
    ]);
    expect(time(1_234.5, 0.1)).toBe('1.2345 s');
  });

  it('writes durations and numbers for people', () => {
    expect([0, 0.0421, 4.23, 310.4, 2_431, 61_000, 2_460_000].map(duration)).toEqual([
      '0 s',
      '42 µs',
      '4.2 ms',
      '310 ms',
      '2.43 s',
      '61 s',
      '41 min',
    ]);
    expect([0, 999, 1_000, 1_234_567].map(whole)).toEqual(['0', '999', '1,000', '1,234,567']);
  });
});
