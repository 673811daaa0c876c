/** The legend: each kind of bar, drawn by what draws the timeline. */

import { STATUSES, type Status } from '../../timeline/page-data.ts';
import { drawBar, hatch } from './bars.ts';
import { maybe, prepared } from '../elements.ts';
import type { Palette } from '../theme.ts';

const WORDS: Readonly<Record<Status, string>> = {
  ok: 'ok',
  fail: 'fail: no effect',
  info: 'info: nobody can tell',
  open: 'never answered',
};
const WIDTH = 34;
const HEIGHT = 13;

export function drawLegend(colours: Palette): void {
  const legend = maybe('legend', HTMLElement);
  if (legend === undefined) return;
  const swatches = STATUSES.map((status) =>
    swatch(status, WORDS[status], (context) =>
      drawBar(context, status, { x: 0, y: 0, width: WIDTH, height: HEIGHT }, colours),
    ),
  );
  const belief = swatch('belief', 'took itself for the holder, and too long', (context) => {
    context.fillStyle = colours.belief;
    context.fillRect(0, 4, WIDTH / 2, 4);
    hatch(context, { x: WIDTH / 2, y: 3, width: WIDTH / 2, height: 7 }, colours.stale, 3);
  });
  legend.replaceChildren(...swatches, belief);
}

function swatch(name: string, words: string, draw: (context: CanvasRenderingContext2D) => void): HTMLElement {
  const canvas = document.createElement('canvas');
  canvas.dataset['status'] = name;
  draw(prepared(canvas, WIDTH, HEIGHT));
  const item = document.createElement('span');
  item.append(canvas, words);
  return item;
}
