/** Sums of calls over time, for the plots and the overview: computed anew for each view, in one pass over the columns. */

import { STATUSES, type CallColumns } from './page-data.ts';
import { spanOf, type View } from './viewport.ts';

/** Latencies are told apart by a factor of about 1.2, from a microsecond to a quarter of an hour. */
const BINS = 120;
const BINS_PER_DECADE = 13;
const LEAST_MS = 1e-3;

export interface Buckets {
  readonly count: number;
  /** How many calls began in each bucket, by status. */
  readonly begun: readonly Uint32Array[];
  /** Of those that were answered `ok`, half of them and 99 in 100 were as fast; 0 where there were none. */
  readonly medianMs: Float64Array;
  readonly p99Ms: Float64Array;
  readonly maxMs: Float64Array;
}

export function bucketsOf({ startMs, lengthMs, status }: CallColumns, view: View, count: number): Buckets {
  const begun = STATUSES.map(() => new Uint32Array(count));
  const medianMs = new Float64Array(count);
  const p99Ms = new Float64Array(count);
  const maxMs = new Float64Array(count);
  const bins = new Uint32Array(count * BINS);
  const scale = count / spanOf(view);
  for (let call = 0; call < startMs.length; call += 1) {
    const place = Math.floor(((startMs[call] ?? 0) - view.fromMs) * scale);
    if (place < 0 || place >= count) continue;
    const kind = status[call] ?? 0;
    const counts = begun[kind];
    if (counts !== undefined) counts[place] = (counts[place] ?? 0) + 1;
    if (kind !== 0) continue;
    const length = lengthMs[call] ?? 0;
    if (length > (maxMs[place] ?? 0)) maxMs[place] = length;
    const bin = place * BINS + binOf(length);
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  for (let place = 0; place < count; place += 1) {
    const total = begun[0]?.[place] ?? 0;
    if (total === 0) continue;
    const ofPlace = bins.subarray(place * BINS, (place + 1) * BINS);
    const longest = maxMs[place] ?? 0;
    medianMs[place] = Math.min(quantile(ofPlace, total * 0.5), longest);
    p99Ms[place] = Math.min(quantile(ofPlace, total * 0.99), longest);
  }
  return { count, begun, medianMs, p99Ms, maxMs };
}

function binOf(ms: number): number {
  const bin = Math.floor(Math.log10(Math.max(ms, LEAST_MS) / LEAST_MS) * BINS_PER_DECADE);
  return Math.min(bin, BINS - 1);
}

/** The upper edge of the bin in which so many have come together. */
function quantile(bins: Uint32Array, wanted: number): number {
  let sum = 0;
  for (const [bin, count] of bins.entries()) {
    sum += count;
    if (sum >= wanted) return LEAST_MS * 10 ** ((bin + 1) / BINS_PER_DECADE);
  }
  return 0;
}
