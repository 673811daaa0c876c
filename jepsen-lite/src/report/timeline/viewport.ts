/** The part of a run that is in view. Pure: the page calls it, and so do the tests. */

export interface View {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Closer than this there is nothing to see. */
export const MIN_SPAN_MS = 0.5;
/** Around a failing sub-history, of its length, on either side. */
const CONTEXT = 0.6;
const MIN_CONTEXT_MS = 20;

export function spanOf({ fromMs, toMs }: View): number {
  return toMs - fromMs;
}

/** All of the run, with a little air. */
export function wholeRun({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): View {
  const air = Math.max((endMs - startMs) * 0.01, MIN_SPAN_MS / 2);
  return { fromMs: startMs - air, toMs: endMs + air };
}

/** The view, moved and narrowed until it lies within the bounds. */
export function clamp({ fromMs, toMs }: View, bounds: View): View {
  const span = Math.min(Math.max(toMs - fromMs, MIN_SPAN_MS), spanOf(bounds));
  const from = Math.min(Math.max(fromMs, bounds.fromMs), bounds.toMs - span);
  return { fromMs: from, toMs: from + span };
}

/** `factor` below 1 shows less; what is at `atMs` stays where it is. */
export function zoom(view: View, bounds: View, factor: number, atMs: number): View {
  const wanted = spanOf(view) * factor;
  const span = Math.min(Math.max(wanted, MIN_SPAN_MS), spanOf(bounds));
  const share = (atMs - view.fromMs) / spanOf(view);
  const fromMs = atMs - share * span;
  return clamp({ fromMs, toMs: fromMs + span }, bounds);
}

/** `share`: of what is in view. */
export function pan(view: View, bounds: View, share: number): View {
  const by = spanOf(view) * share;
  return clamp({ fromMs: view.fromMs + by, toMs: view.toMs + by }, bounds);
}

/** All of these, with what happened around them. */
export function around(times: readonly number[], bounds: View): View {
  const first = Math.min(...times);
  const last = Math.max(...times);
  const air = Math.max((last - first) * CONTEXT, MIN_CONTEXT_MS);
  return clamp({ fromMs: first - air, toMs: last + air }, bounds);
}

export function xOf({ fromMs, toMs }: View, width: number, ms: number): number {
  return ((ms - fromMs) / (toMs - fromMs)) * width;
}

export function msAt({ fromMs, toMs }: View, width: number, x: number): number {
  return fromMs + (x / width) * (toMs - fromMs);
}
