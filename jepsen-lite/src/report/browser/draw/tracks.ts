/** Draws the rows that are in view, with their names. */

import { rowOf, type Row } from '../../timeline/rows.ts';
import { whole } from '../../timeline/ticks.ts';
import { drawFaults, drawHolders, drawLeaders } from './bands.ts';
import { fitted } from './bars.ts';
import { drawCalls } from './calls.ts';
import { drawPhases, drawPoint, drawSelected, drawWash } from './highlights.ts';
import { FONT, GUTTER, type Scene } from './scene.ts';

const BOLD = `600 ${FONT}`;
const DIMMED = 0.38;

export function drawTracks(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, width, height, scrollTop, colours, points } = scene;
  context.font = FONT;
  const bright = new Set(points.map((point) => rowOf(layout, point)));
  const inView = layout.rows.filter((row) => row.top + row.height > scrollTop && row.top < scrollTop + height);
  for (const row of inView) drawStripe(context, scene, row);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, height);
  context.clip();
  context.translate(GUTTER, -scrollTop);
  drawPhases(context, scene);
  drawWash(context, scene);
  for (const row of inView) {
    context.globalAlpha = points.length > 0 && isBeside(scene, row) && !bright.has(row) ? DIMMED : 1;
    drawRow(context, scene, row);
  }
  context.globalAlpha = 1;
  for (const point of points) drawPoint(context, scene, point);
  drawSelected(context, scene);
  context.restore();
  for (const row of inView) drawName(context, scene, row);
  context.fillStyle = colours.line;
  context.fillRect(GUTTER - 1, 0, 1, height);
}

/** Clients and locks that have no part in what is highlighted; faults and leaders may have one in anything. */
function isBeside({ locks }: Scene, row: Row): boolean {
  return row.kind === 'lane' || (row.kind === 'lock' && !locks.includes(row.place));
}

function drawStripe(context: CanvasRenderingContext2D, { colours, width, scrollTop, data }: Scene, row: Row): void {
  const y = row.top - scrollTop;
  if (row.kind === 'heading') {
    context.fillStyle = colours.sunk;
    context.fillRect(0, y, width, row.height - 4);
    context.fillStyle = colours.line;
    context.fillRect(0, y, width, 1);
    context.fillRect(0, y + row.height - 5, width, 1);
  }
  const lane = row.kind === 'lane' ? data.lanes[row.place] : undefined;
  if (row.kind === 'lock' || (lane !== undefined && row.kind === 'lane' && row.row === lane.rows - 1)) {
    context.fillStyle = colours.rule;
    context.fillRect(0, y + row.height + (row.kind === 'lane' ? 2 : -1), width, 1);
  }
}

function drawName(context: CanvasRenderingContext2D, { colours, data, scrollTop, width }: Scene, row: Row): void {
  const middle = row.top - scrollTop + row.height / 2;
  const write = (text: string, note: string, bold: boolean): void => {
    context.font = FONT;
    const noteWidth = note === '' ? 0 : context.measureText(note).width + 8;
    context.textAlign = 'right';
    context.fillStyle = colours.muted;
    context.fillText(note, GUTTER - 10, middle);
    context.textAlign = 'left';
    context.font = bold ? BOLD : FONT;
    context.fillStyle = colours.ink;
    context.fillText(fitted(context, text, GUTTER - 20 - noteWidth), 10, middle);
    context.font = FONT;
  };
  if (row.kind === 'heading') {
    const y = middle - 2;
    context.font = BOLD;
    context.fillStyle = colours.ink;
    context.fillText(row.text, 10, y);
    context.font = FONT;
    context.fillStyle = colours.muted;
    context.fillText(fitted(context, row.note, width - GUTTER - 20), GUTTER + 10, y);
  } else if (row.kind === 'fault') {
    const fault = data.faults[row.place];
    if (fault !== undefined) write(fault.kind, whole(fault.count), false);
  } else if (row.kind === 'lock' && row.row === 0) {
    const lock = data.locks[row.place];
    write(lock?.name ?? '', whole(lock?.rows.reduce((sum, { length }) => sum + length, 0) ?? 0), true);
  } else if (row.kind === 'lane' && row.row === 0) {
    const lane = data.lanes[row.place];
    write(lane?.name ?? '', whole(lane?.calls ?? 0), true);
  }
}

function drawRow(context: CanvasRenderingContext2D, scene: Scene, row: Row): void {
  const { data } = scene;
  if (row.kind === 'fault') drawFaults(context, scene, row, data.faults[row.place]?.bands ?? []);
  else if (row.kind === 'leader') drawLeaders(context, scene, row, data.leaders[row.row] ?? []);
  else if (row.kind === 'lock') drawHolders(context, scene, row, data.locks[row.place]?.rows[row.row] ?? []);
  else if (row.kind === 'lane') drawCalls(context, scene, row.top, (data.lanes[row.place]?.firstRow ?? 0) + row.row);
}
