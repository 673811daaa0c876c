/** What is drawn, for all that draw a part of it, and where a time is in it. */

import type { FocusPoint, PageData } from '../../timeline/page-data.ts';
import type { Layout } from '../../timeline/rows.ts';
import { xOf, type View } from '../../timeline/viewport.ts';
import type { Palette } from '../theme.ts';
import { fitted, type Box } from './bars.ts';

/** Names of rows stand here. */
export const GUTTER = 148;
export const FONT = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

export interface Scene {
  readonly data: PageData;
  readonly layout: Layout;
  readonly view: View;
  readonly colours: Palette;
  /** Of the whole canvas. */
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  /** What is highlighted; empty when nothing is. */
  readonly points: readonly FocusPoint[];
  /** The locks that this is about. */
  readonly locks: readonly number[];
  readonly selected: number | undefined;
}

/** Left edge and width in pixels, cut at the edges of what is in view. */
export function stretch(
  { view, width }: Scene,
  startMs: number,
  endMs: number,
  least: number,
): readonly [number, number] {
  const plot = width - GUTTER;
  const left = Math.max(xOf(view, plot, startMs), -20);
  const right = Math.min(xOf(view, plot, endMs), plot + 20);
  return [left, Math.max(right - left, least)];
}

export function isInView({ view }: Scene, startMs: number, endMs: number): boolean {
  return endMs >= view.fromMs && startMs <= view.toMs;
}

export function writeWithin(
  context: CanvasRenderingContext2D,
  text: string,
  { x, y, width, height }: Box,
  colour: string,
): void {
  // What begins left of the window is named at its edge.
  const left = Math.max(x, 0) + 5;
  const shown = fitted(context, text, x + width - left - 3);
  if (shown === '') return;
  context.fillStyle = colour;
  context.fillText(shown, left, y + height / 2 + 0.5);
}
