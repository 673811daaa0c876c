/** What lies under the pointer, in words. */

import type { PageData } from '../timeline/page-data.ts';
import { callsInView, laneOf } from '../timeline/columns.ts';
import { rowAt, type Layout, type Row } from '../timeline/rows.ts';
import { duration, time } from '../timeline/ticks.ts';
import { msAt, spanOf, type View } from '../timeline/viewport.ts';
import { GUTTER } from './draw/scene.ts';

export interface Hit {
  readonly title: string;
  readonly lines: readonly string[];
  /** Its place in the columns. */
  readonly call?: number;
}

/** A bar this near is meant, too: many are a pixel wide. */
const NEAR = 4;

/** @param y from the top of the first row */
export function hitAt(
  data: PageData,
  layout: Layout,
  view: View,
  width: number,
  x: number,
  y: number,
): Hit | undefined {
  const row = rowAt(layout, y);
  const plot = width - GUTTER;
  if (row === undefined || x < GUTTER || plot <= 0) return undefined;
  const ms = msAt(view, plot, x - GUTTER);
  const slackMs = (NEAR / plot) * spanOf(view);
  if (row.kind === 'lane') return hitCall(data, row, ms, slackMs);
  if (row.kind === 'lock') return hitHolder(data, row, ms, slackMs);
  if (row.kind === 'leader') {
    const band = nearest(data.leaders[row.row] ?? [], ms, slackMs);
    if (band === undefined) return undefined;
    return { title: `${band.server} leads term ${band.term}`, lines: [lasted(band)] };
  }
  if (row.kind !== 'fault') return undefined;
  const fault = data.faults[row.place];
  const band = nearest(fault?.bands ?? [], ms, slackMs);
  if (fault === undefined || band === undefined) return undefined;
  return { title: `${fault.kind} ${band.label}`.trim(), lines: [lasted(band)] };
}

function hitCall(
  data: PageData,
  row: Row & { readonly kind: 'lane' | 'lock' },
  ms: number,
  slackMs: number,
): Hit | undefined {
  const { calls } = data;
  const lane = data.lanes[row.place];
  const [first, end] = callsInView(data, (lane?.firstRow ?? 0) + row.row, { fromMs: ms - slackMs, toMs: ms + slackMs });
  let best: number | undefined;
  let bestMs = Infinity;
  for (let call = first; call < end; call += 1) {
    const startMs = calls.startMs[call] ?? 0;
    const away = Math.max(startMs - ms, ms - startMs - (calls.lengthMs[call] ?? 0), 0);
    if (away < bestMs) [best, bestMs] = [call, away];
  }
  return best === undefined ? undefined : describeCall(data, best);
}

export function describeCall(data: PageData, call: number): Hit {
  const { calls, texts, lanes } = data;
  const startMs = calls.startMs[call] ?? 0;
  const name = lanes[laneOf(data, call).lane]?.name ?? '';
  const lengthMs = calls.lengthMs[call] ?? 0;
  const answer = texts[calls.answered[call] ?? 0] ?? '';
  const open = calls.status[call] === 3;
  return {
    title: `${name}: ${texts[calls.asked[call] ?? 0]}`,
    lines: [
      open ? `${answer}, ${duration(lengthMs)} until the run ended` : `${answer}, after ${duration(lengthMs)}`,
      `at ${time(startMs, 0.1)}, event ${calls.seq[call]}`,
    ],
    call,
  };
}

function hitHolder(
  data: PageData,
  row: Row & { readonly kind: 'lane' | 'lock' },
  ms: number,
  slackMs: number,
): Hit | undefined {
  const lock = data.locks[row.place];
  const bands = (lock?.rows[row.row] ?? []).map((band) => ({
    ...band,
    lastMs: Math.max(band.endMs, band.told?.endMs ?? 0),
  }));
  const band =
    nearest(bands, ms, slackMs) ??
    nearest(
      bands.map((each) => ({ ...each, endMs: each.lastMs })),
      ms,
      slackMs,
    );
  if (lock === undefined || band === undefined) return undefined;
  const { told, token, client, seq, startMs } = band;
  const own = bands.find((each) => each.seq === seq) ?? band;
  const ended = own.end === 'open' ? 'held until the run ended' : `${own.end} after ${duration(own.endMs - startMs)}`;
  const lines = [`${ended}; granted at ${time(startMs, 0.1)}, event ${seq}`];
  if (told === undefined) lines.push('its client was never told');
  else if (told.endMs > own.endMs)
    lines.push(`its client took itself for the holder for ${duration(told.endMs - own.endMs)} longer`);
  return { title: `${lock.name}: token ${token}, ${client}`, lines };
}

function nearest<T extends { readonly startMs: number; readonly endMs: number }>(
  bands: readonly T[],
  ms: number,
  slackMs: number,
): T | undefined {
  let best: T | undefined;
  let bestMs = slackMs;
  for (const band of bands) {
    const away = Math.max(band.startMs - ms, ms - band.endMs, 0);
    if (away > bestMs || (best !== undefined && away === bestMs)) continue;
    [best, bestMs] = [band, away];
  }
  return best;
}

function lasted({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): string {
  return `from ${time(startMs, 0.1)} to ${time(endMs, 0.1)}, ${duration(endMs - startMs)}`;
}
