/** What stands out: the phases of the run, the steps of what failed, and the call that was chosen. */

import { laneOf } from '../../timeline/columns.ts';
import { STATUSES, type FocusPoint } from '../../timeline/page-data.ts';
import { rowOf } from '../../timeline/rows.ts';
import { xOf } from '../../timeline/viewport.ts';
import { BAND_HEIGHT } from './bands.ts';
import { drawBar } from './bars.ts';
import { GUTTER, stretch, type Scene } from './scene.ts';

export function drawPhases(context: CanvasRenderingContext2D, { data, view, width, layout, colours }: Scene): void {
  context.strokeStyle = colours.strong;
  context.lineWidth = 1;
  context.setLineDash([5, 4]);
  for (const { atMs } of data.phases) {
    const x = Math.round(xOf(view, width - GUTTER, atMs)) + 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, layout.height);
    context.stroke();
  }
  context.setLineDash([]);
}

export function drawWash(context: CanvasRenderingContext2D, { points, view, width, layout, colours }: Scene): void {
  if (points.length === 0) return;
  const plot = width - GUTTER;
  const from = xOf(view, plot, Math.min(...points.map(({ atMs }) => atMs)));
  const to = xOf(view, plot, Math.max(...points.map(({ endMs }) => endMs)));
  context.fillStyle = colours['witness-wash'];
  context.fillRect(from, 0, Math.max(to - from, 2), layout.height);
  context.strokeStyle = colours.witness;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.save();
  context.globalAlpha = 0.6;
  for (const { atMs } of points) {
    const x = Math.round(xOf(view, plot, atMs)) + 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, layout.height);
    context.stroke();
  }
  context.restore();
  context.setLineDash([]);
}

export function drawPoint(context: CanvasRenderingContext2D, scene: Scene, point: FocusPoint): void {
  const row = rowOf(scene.layout, point);
  if (row === undefined) return;
  const [x, width] = stretch(scene, point.atMs, point.endMs, 3);
  const bar = row.kind === 'lane' ? 13 : BAND_HEIGHT;
  const y = row.top + (row.kind === 'lane' ? 2 : 1);
  context.strokeStyle = scene.colours.witness;
  context.lineWidth = 2.5;
  if (point.endMs > point.atMs) {
    if (row.kind === 'lane' && point.call !== undefined) {
      // Drawn anew, since its neighbours may have been drawn as a sum.
      const status = STATUSES[scene.data.calls.status[point.call] ?? 0] ?? 'ok';
      if (width < 34) drawBar(context, status, { x, y, width, height: bar }, scene.colours);
      context.strokeStyle = scene.colours.witness;
      context.lineWidth = 2.5;
    }
    context.beginPath();
    context.roundRect(x - 2, y - 2, width + 4, bar + 4, 3);
    context.stroke();
    return;
  }
  context.fillStyle = scene.colours.witness;
  context.beginPath();
  context.moveTo(x, row.top);
  context.lineTo(x + 5, row.top + row.height / 2);
  context.lineTo(x, row.top + row.height);
  context.lineTo(x - 5, row.top + row.height / 2);
  context.fill();
}

export function drawSelected(context: CanvasRenderingContext2D, scene: Scene): void {
  const { data, layout, selected, colours } = scene;
  if (selected === undefined) return;
  const { lane, row: rowOfLane } = laneOf(data, selected);
  const row = rowOf(layout, { track: 'lane', place: lane, row: rowOfLane });
  const startMs = data.calls.startMs[selected] ?? 0;
  if (row === undefined) return;
  const [x, width] = stretch(scene, startMs, startMs + (data.calls.lengthMs[selected] ?? 0), 2);
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  context.strokeRect(x - 2, row.top, width + 4, 17);
}
