/** How long things take: a distribution, drawn with one number of a stream. */

import type { Random } from '../../random.ts';
import { toTicks } from '../scheduler.ts';

/** A range, most draws near its lower end, as with real disks and networks. */
export interface RangeLatency {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Exponential from `minMs` on, with a long tail that is cut at `maxMs`; `meanMs` is the mean before the cut. */
export interface ExponentialLatency {
  readonly minMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
}

export type Latency = RangeLatency | ExponentialLatency;

/** Only sums and products of the draw: `Math.log` differs between engines, and a seed must mean the same everywhere. */
export function drawTicks(latency: Latency, random: Random): number {
  const { minMs, maxMs } = latency;
  const draw = random.next();
  if (!('meanMs' in latency)) return toTicks(minMs + (maxMs - minMs) * draw * draw * draw);
  return toTicks(Math.min(maxMs, minMs - (latency.meanMs - minMs) * naturalLogarithm(1 - draw)));
}

export function checkLatency(latency: Latency): void {
  const { minMs, maxMs } = latency;
  const meanMs = 'meanMs' in latency ? latency.meanMs : minMs;
  if (!(minMs >= 0 && minMs <= meanMs && meanMs <= maxMs && maxMs < Infinity)) {
    const given = JSON.stringify(latency);
    throw new RangeError(`a latency needs 0 <= minMs <= meanMs <= maxMs, all finite, and not ${given}`);
  }
}

const LN_2 = 0.693147180559945;

/** Of a number in (0, 1], to nine digits: ln(m / 2^k) with m in (1/2, 1], by the series of the inverse hyperbolic tangent. */
export function naturalLogarithm(value: number): number {
  let mantissa = value;
  let halvings = 0;
  while (mantissa <= 0.5) {
    mantissa *= 2;
    halvings += 1;
  }
  const ratio = (mantissa - 1) / (mantissa + 1);
  const square = ratio * ratio;
  let power = ratio;
  let sum = 0;
  for (let odd = 1; odd <= 19; odd += 2) {
    sum += power / odd;
    power *= square;
  }
  return 2 * sum - halvings * LN_2;
}
