/** Latency and rate of what is in view: each call by itself where there are few, else the median and the 99th percentile of each moment. */

import { bucketsOf, type Buckets } from '../../timeline/buckets.ts';
import { STATUSES } from '../../timeline/page-data.ts';
import { duration, whole } from '../../timeline/ticks.ts';
import { spanOf, xOf } from '../../timeline/viewport.ts';
import { drawBar, drawCross } from './bars.ts';
import { prepared } from '../elements.ts';
import { FONT, GUTTER, type Scene } from './scene.ts';

const LATENCY_HEIGHT = 92;
const RATE_HEIGHT = 70;
const GAP = 12;
const BUCKET_WIDTH = 6;
/** More points than these hide one another. */
const MAX_POINTS = 1_500;

export function drawPlots(canvas: HTMLCanvasElement, scene: Scene): void {
  const { width, colours, data, view } = scene;
  const height = LATENCY_HEIGHT + RATE_HEIGHT + GAP;
  const context = prepared(canvas, width, height);
  const plot = width - GUTTER;
  context.font = FONT;
  const buckets = bucketsOf(data.calls, view, Math.max(Math.floor(plot / BUCKET_WIDTH), 1));
  const inView = buckets.begun.reduce((sum, counts) => counts.reduce((total, count) => total + count, sum), 0);
  const asPoints = inView <= MAX_POINTS;
  title(context, scene, 6, 'Latency', asPoints ? 'each call' : 'median – 99 % – most');
  title(context, scene, LATENCY_HEIGHT + GAP + 6, 'Rate', 'calls a second');
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, plot, height);
  context.clip();
  context.translate(GUTTER, 0);
  if (inView === 0) {
    context.fillStyle = colours.muted;
    context.fillText('No call begins here.', 10, LATENCY_HEIGHT / 2);
  } else if (asPoints) drawEach(context, scene);
  else drawSpread(context, scene, buckets);
  context.translate(0, LATENCY_HEIGHT + GAP);
  if (inView > 0) drawRate(context, scene, buckets);
  context.restore();
  context.fillStyle = colours.line;
  context.fillRect(GUTTER - 1, 0, 1, height);
  context.fillRect(0, LATENCY_HEIGHT + GAP / 2, width, 1);
}

function title(context: CanvasRenderingContext2D, { colours }: Scene, y: number, name: string, note: string): void {
  context.fillStyle = colours.ink;
  context.font = `600 ${FONT}`;
  context.fillText(name, 10, y + 8);
  context.font = FONT;
  context.fillStyle = colours.muted;
  context.fillText(note, 10, y + 25);
}

/** Powers of ten around these, with a line and a label each. */
function scale(
  context: CanvasRenderingContext2D,
  { colours, width }: Scene,
  leastMs: number,
  mostMs: number,
): (ms: number) => number {
  const low = Math.floor(Math.log10(Math.max(leastMs, 1e-3)));
  const high = Math.max(Math.ceil(Math.log10(Math.max(mostMs, 1e-3))), low + 1);
  const top = 8;
  const room = LATENCY_HEIGHT - top - 4;
  const y = (ms: number): number => top + room * (1 - (Math.log10(Math.max(ms, 10 ** low)) - low) / (high - low));
  const every = high - low > 4 ? 2 : 1;
  context.textAlign = 'right';
  for (let power = low; power <= high; power += every) {
    const at = Math.round(y(10 ** power)) + 0.5;
    context.fillStyle = colours.rule;
    context.fillRect(0, at - 0.5, width, 1);
    context.fillStyle = colours.muted;
    context.save();
    context.translate(-GUTTER, 0);
    context.restore();
    context.fillText(duration(10 ** power), width - GUTTER - 6, Math.max(at - 6, 6));
  }
  context.textAlign = 'left';
  return y;
}

function drawEach(context: CanvasRenderingContext2D, scene: Scene): void {
  const { data, view, width, colours } = scene;
  const { startMs, lengthMs, status } = data.calls;
  const plot = width - GUTTER;
  const places: number[] = [];
  for (const [call, ms] of startMs.entries()) if (ms >= view.fromMs && ms <= view.toMs) places.push(call);
  const lengths = places.map((call) => lengthMs[call] ?? 0).filter((length) => length > 0);
  const y = scale(context, scene, Math.min(...lengths, 1), Math.max(...lengths, 1));
  for (const call of places) {
    const kind = STATUSES[status[call] ?? 0] ?? 'ok';
    const x = xOf(view, plot, startMs[call] ?? 0);
    const at = y(lengthMs[call] ?? 0);
    context.lineWidth = 1.25;
    context.fillStyle = colours[kind];
    context.strokeStyle = colours[kind];
    context.beginPath();
    if (kind === 'ok') {
      context.arc(x, at, 2.2, 0, 2 * Math.PI);
      context.fill();
    } else if (kind === 'fail') drawCross(context, x, at, 2.6);
    else {
      context.moveTo(x, at - 3.6);
      context.lineTo(x + 3.6, at + 2.8);
      context.lineTo(x - 3.6, at + 2.8);
      context.closePath();
      if (kind === 'open') context.setLineDash([1.5, 1.5]);
      context.stroke();
      context.setLineDash([]);
    }
  }
}

function drawSpread(context: CanvasRenderingContext2D, scene: Scene, buckets: Buckets): void {
  const { colours } = scene;
  const { medianMs, p99Ms, maxMs, count } = buckets;
  const known = [...medianMs].filter((ms) => ms > 0);
  const y = scale(context, scene, Math.min(...known, 1), Math.max(...maxMs, 1));
  for (let place = 0; place < count; place += 1) {
    const median = medianMs[place] ?? 0;
    if (median === 0) continue;
    const x = place * BUCKET_WIDTH;
    const [top, bottom] = [y(p99Ms[place] ?? 0), y(median)];
    context.fillStyle = colours['holder-alt'];
    context.fillRect(x + 1, top, BUCKET_WIDTH - 2, Math.max(bottom - top, 1));
    context.fillStyle = colours.ok;
    context.fillRect(x, bottom - 1, BUCKET_WIDTH, 2.5);
    context.fillStyle = colours.muted;
    context.fillRect(x + 2, y(maxMs[place] ?? 0) - 0.75, 2, 1.5);
  }
}

function drawRate(context: CanvasRenderingContext2D, scene: Scene, { begun, count }: Buckets): void {
  const { colours, view, width } = scene;
  const totals = Array.from({ length: count }, (_, place) => begun.reduce((sum, of) => sum + (of[place] ?? 0), 0));
  const most = Math.max(...totals, 1);
  const room = RATE_HEIGHT - 14;
  for (let place = 0; place < count; place += 1) {
    let bottom = RATE_HEIGHT - 2;
    for (const [kind, counts] of begun.entries()) {
      const height = ((counts[place] ?? 0) / most) * room;
      if (height === 0) continue;
      const box = { x: place * BUCKET_WIDTH + 0.5, y: bottom - height, width: BUCKET_WIDTH - 1, height };
      drawBar(context, STATUSES[kind] ?? 'ok', box, colours);
      bottom -= height;
    }
  }
  const seconds = spanOf(view) / count / 1_000;
  context.textAlign = 'right';
  context.fillStyle = colours.muted;
  context.fillText(`${rate(most / seconds)} at most`, width - GUTTER - 6, 6);
  context.textAlign = 'left';
}

function rate(perSecond: number): string {
  return perSecond < 10 ? String(Number(perSecond.toFixed(1))) : whole(perSecond);
}
