/** Draws the calls of a row: each as a bar, or, where they are too many, columns of how many came to what. */

import { callsInView } from '../../timeline/columns.ts';
import { STATUSES } from '../../timeline/page-data.ts';
import { drawBar, fitted } from './bars.ts';
import { GUTTER, stretch, type Scene } from './scene.ts';

/** More calls than one in so many pixels are drawn as sums. */
const PIXELS_FOR_A_CALL = 3;
const SUM_WIDTH = 4;
/** Longer calls are drawn by themselves even then. */
const ALWAYS_DRAWN = 10;

export function drawCalls(context: CanvasRenderingContext2D, scene: Scene, top: number, row: number): void {
  const { data, view, width, colours } = scene;
  const { calls, texts } = data;
  const [first, end] = callsInView(data, row, view);
  const plot = width - GUTTER;
  const asSums = end - first > plot / PIXELS_FOR_A_CALL;
  const sums = asSums ? new Uint32Array(Math.ceil(plot / SUM_WIDTH) * STATUSES.length) : undefined;
  for (let call = first; call < end; call += 1) {
    const startMs = calls.startMs[call] ?? 0;
    const [x, wide] = stretch(scene, startMs, startMs + (calls.lengthMs[call] ?? 0), 0);
    const kind = calls.status[call] ?? 0;
    if (sums !== undefined && wide < ALWAYS_DRAWN) {
      const place = Math.max(Math.floor(x / SUM_WIDTH), 0) * STATUSES.length + kind;
      sums[place] = (sums[place] ?? 0) + 1;
      continue;
    }
    const status = STATUSES[kind] ?? 'ok';
    const box = { x, y: top + 2, width: wide, height: 13 };
    drawBar(context, status, box, colours);
    if (wide < 34) continue;
    const text = `${texts[calls.asked[call] ?? 0]}${wide > 170 ? ` → ${texts[calls.answered[call] ?? 0]}` : ''}`;
    const left = Math.max(x, 0) + 5;
    const shown = fitted(context, text, x + wide - left - (status === 'ok' ? 4 : 12));
    if (shown === '') continue;
    if (status !== 'ok') {
      context.fillStyle = colours.panel;
      context.fillRect(left - 2, box.y + 1.5, context.measureText(shown).width + 4, box.height - 3);
    }
    const isDimmed = context.globalAlpha < 1;
    context.fillStyle = status === 'ok' && !isDimmed ? colours['ok-ink'] : colours.ink;
    context.fillText(shown, left, box.y + box.height / 2 + 0.5);
  }
  if (sums !== undefined) drawSums(context, scene, top, sums);
}

/** A column of many calls: as high as they are many, and with a part in the shape of each status that is among them. */
function drawSums(context: CanvasRenderingContext2D, { colours }: Scene, top: number, sums: Uint32Array): void {
  const kinds = STATUSES.length;
  for (let place = 0; place < sums.length; place += kinds) {
    const counts = sums.subarray(place, place + kinds);
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) continue;
    const height = 13 * Math.min(0.35 + Math.log2(total) / 8, 1);
    let bottom = top + 15;
    const x = (place / kinds) * SUM_WIDTH;
    for (const [kind, count] of counts.entries()) {
      if (count === 0) continue;
      const part = Math.max((height * count) / total, 2.5);
      drawBar(context, STATUSES[kind] ?? 'ok', { x, y: bottom - part, width: SUM_WIDTH - 1, height: part }, colours);
      bottom -= part;
    }
  }
}
