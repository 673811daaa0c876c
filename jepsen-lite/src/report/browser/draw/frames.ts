/** What stands around the tracks: the whole run above them with the part that is in view, and the axis. */

import { bucketsOf, type Buckets } from '../../timeline/buckets.ts';
import { duration, ticks } from '../../timeline/ticks.ts';
import { spanOf, wholeRun, xOf } from '../../timeline/viewport.ts';
import { prepared } from '../elements.ts';
import { FONT, GUTTER, type Scene } from './scene.ts';

const OVERVIEW_HEIGHT = 46;
const AXIS_HEIGHT = 26;
const BUCKET_WIDTH = 3;

/** It shows the whole run, whatever is in view: counted once a width. */
export class Overview {
  readonly #canvas: HTMLCanvasElement;
  #buckets: Buckets | undefined;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  draw(scene: Scene): void {
    const { data, width, colours, view } = scene;
    const context = prepared(this.#canvas, width, OVERVIEW_HEIGHT);
    const plot = width - GUTTER;
    const bounds = wholeRun(data);
    const count = Math.ceil(plot / BUCKET_WIDTH);
    if (this.#buckets?.count !== count) this.#buckets = bucketsOf(data.calls, bounds, count);
    context.font = FONT;
    context.fillStyle = colours.ink;
    context.fillText('Whole run', 10, 15);
    context.fillStyle = colours.muted;
    context.fillText(duration(data.endMs - data.startMs), 10, 31);
    context.save();
    context.translate(GUTTER, 0);
    drawTotals(context, this.#buckets, scene);
    for (const { points } of data.findings.slice(0, 1)) {
      for (const { atMs } of points) drawPennant(context, xOf(bounds, plot, atMs), colours.witness);
    }
    const from = xOf(bounds, plot, view.fromMs);
    const to = Math.max(xOf(bounds, plot, view.toMs), from + 3);
    context.fillStyle = colours.page;
    context.globalAlpha = 0.66;
    context.fillRect(0, 0, from, OVERVIEW_HEIGHT);
    context.fillRect(to, 0, plot - to, OVERVIEW_HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(from + 0.75, 0.75, Math.max(to - from - 1.5, 2), OVERVIEW_HEIGHT - 1.5);
    context.restore();
  }
}

function drawTotals(context: CanvasRenderingContext2D, { begun, count }: Buckets, { colours }: Scene): void {
  const totals = Array.from({ length: count }, (_, place) => begun.reduce((sum, of) => sum + (of[place] ?? 0), 0));
  const most = Math.max(...totals, 1);
  for (const [place, total] of totals.entries()) {
    if (total === 0) continue;
    const ok = begun[0]?.[place] ?? 0;
    const height = Math.sqrt(total / most) * (OVERVIEW_HEIGHT - 14);
    const x = place * BUCKET_WIDTH;
    context.fillStyle = colours.ok;
    context.fillRect(x, OVERVIEW_HEIGHT - 3 - height, BUCKET_WIDTH - 0.5, height);
    if (ok === total) continue;
    context.fillStyle = colours.fail;
    context.fillRect(x, OVERVIEW_HEIGHT - 3 - height - 3, BUCKET_WIDTH - 0.5, 2);
  }
}

function drawPennant(context: CanvasRenderingContext2D, x: number, colour: string): void {
  context.fillStyle = colour;
  context.fillRect(x - 0.75, 0, 1.5, OVERVIEW_HEIGHT);
  context.beginPath();
  context.moveTo(x - 5, 0);
  context.lineTo(x + 5, 0);
  context.lineTo(x, 8);
  context.fill();
}

export function drawAxis(canvas: HTMLCanvasElement, { data, view, width, colours }: Scene): void {
  const context = prepared(canvas, width, AXIS_HEIGHT);
  context.font = FONT;
  context.fillStyle = colours.muted;
  context.fillText(`${duration(spanOf(view))} in view`, 10, AXIS_HEIGHT / 2);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, AXIS_HEIGHT);
  context.clip();
  context.translate(GUTTER, 0);
  const plot = width - GUTTER;
  const named = data.phases.map(({ label, atMs }) => {
    const x = xOf(view, plot, atMs);
    const wide = context.measureText(label).width;
    // Where there is no room behind its line, it stands before it.
    const left = x <= plot && x + 5 + wide > plot - 4 ? x - 5 - wide : x + 5;
    return { label, x, left, end: left + wide + 7 };
  });
  for (const { ms, label } of ticks(view, plot)) {
    const x = Math.round(xOf(view, plot, ms)) + 0.5;
    const wide = context.measureText(label).width;
    context.fillStyle = colours.strong;
    context.fillRect(x - 0.5, AXIS_HEIGHT - 6, 1, 6);
    const left = Math.min(Math.max(x - wide / 2, 4), plot - wide - 4);
    if (named.some((phase) => left < phase.end && left + wide > Math.min(phase.x, phase.left) - 6)) continue;
    context.fillStyle = colours.muted;
    context.fillText(label, left, AXIS_HEIGHT / 2 - 1);
  }
  for (const { label, x, left } of named) {
    if (x < -1 || x > plot) continue;
    context.fillStyle = colours.strong;
    context.fillRect(Math.round(x), 0, 1, AXIS_HEIGHT);
    context.fillStyle = colours.ink;
    context.fillText(label, left, AXIS_HEIGHT / 2 - 1);
  }
  context.restore();
  context.fillStyle = colours.line;
  context.fillRect(GUTTER - 1, 0, 1, AXIS_HEIGHT);
}
