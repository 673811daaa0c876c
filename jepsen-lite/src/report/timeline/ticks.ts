/** Marks of an axis, and how times and numbers are written. */

import type { View } from './viewport.ts';

const STEPS = [1, 2, 5];
const MS_PER_SECOND = 1_000;
const MS_PER_MINUTE = 60_000;

/** About one tick in so many pixels, at round numbers. */
export function ticks({ fromMs, toMs }: View, width: number, pixels = 110): readonly { ms: number; label: string }[] {
  const wanted = ((toMs - fromMs) / Math.max(width, 1)) * pixels;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = (STEPS.find((each) => each * power >= wanted) ?? 10) * power;
  const found: { ms: number; label: string }[] = [];
  for (let n = Math.ceil(fromMs / step); n * step <= toMs; n += 1) {
    const ms = n * step;
    found.push({ ms, label: time(ms, step) });
  }
  return found;
}

/** `12.5 s`; as many places as `precisionMs` asks for. */
export function time(ms: number, precisionMs = 1): string {
  const places = Math.min(Math.max(Math.ceil(-Math.log10(precisionMs / MS_PER_SECOND) - 1e-9), 0), 6);
  return `${(ms / MS_PER_SECOND).toFixed(places)} s`;
}

/** `850 µs`, `4.2 ms`, `310 ms`, `2.4 s`, `41 min`. */
export function duration(ms: number): string {
  if (ms === 0) return '0 s';
  if (ms >= 10 * MS_PER_MINUTE) return `${whole(ms / MS_PER_MINUTE)} min`;
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < MS_PER_SECOND) return `${Math.round(ms)} ms`;
  return `${Number((ms / MS_PER_SECOND).toFixed(ms < 10 * MS_PER_SECOND ? 2 : 1))} s`;
}

/** `12,345` in every language that the reader's browser may speak. */
export function whole(number: number): string {
  return String(Math.round(number)).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}
