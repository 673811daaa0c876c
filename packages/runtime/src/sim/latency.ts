/** How long things take: a range, most draws near its lower end, as with real disks and networks. */

import type { Random } from '../random.ts';
import { toTicks } from './scheduler.ts';

export interface Latency {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Only products of the draw: logarithms differ between engines, and a seed must mean the same everywhere. */
export function drawTicks({ minMs, maxMs }: Latency, random: Random): number {
  const draw = random.next();
  return toTicks(minMs + (maxMs - minMs) * draw * draw * draw);
}
