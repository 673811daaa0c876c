/**
 * Bars of calls. What became of a call shows in its shape: ok is solid, fail is hollow with a cross, info is hatched and has no right edge,
 * and one that was never answered is dotted and goes on. Where a bar is too narrow for that: whole, half, broken in two, dotted.
 */

import type { Status } from '../../timeline/page-data.ts';
import type { Palette } from '../theme.ts';

/** Below this a bar has a shape of its own. */
const NARROW = 5;
const LEAST = 1.5;
const ROOM_FOR_A_CROSS = 10;
const HATCH = 4;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function drawBar(context: CanvasRenderingContext2D, status: Status, box: Box, colours: Palette): void {
  const { x, y, height } = box;
  const width = Math.max(box.width, LEAST);
  if (width < NARROW) {
    drawNarrow(context, status, { x, y, width: Math.max(width, 2), height }, colours);
    return;
  }
  context.lineWidth = 1.25;
  switch (status) {
    case 'ok':
      context.fillStyle = colours.ok;
      context.beginPath();
      context.roundRect(x, y, width, height, 2);
      context.fill();
      return;
    case 'fail':
      context.strokeStyle = colours.fail;
      context.fillStyle = colours.panel;
      context.fillRect(x, y, width, height);
      context.strokeRect(x + 0.6, y + 0.6, width - 1.2, height - 1.2);
      if (width >= ROOM_FOR_A_CROSS) drawCross(context, x + width - 6, y + height / 2, 2.6);
      return;
    case 'info':
      hatch(context, { x, y, width, height }, colours.info, HATCH, colours.panel);
      context.strokeStyle = colours.info;
      context.beginPath();
      context.moveTo(x + width, y + 0.6);
      context.lineTo(x + 0.6, y + 0.6);
      context.lineTo(x + 0.6, y + height - 0.6);
      context.lineTo(x + width, y + height - 0.6);
      context.stroke();
      return;
    case 'open':
      context.strokeStyle = colours.open;
      context.setLineDash([2, 2.5]);
      context.strokeRect(x + 0.6, y + 0.6, width - 1.2, height - 1.2);
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(x + width - 7, y + 3);
      context.lineTo(x + width - 3, y + height / 2);
      context.lineTo(x + width - 7, y + height - 3);
      context.stroke();
  }
}

function drawNarrow(context: CanvasRenderingContext2D, status: Status, box: Box, colours: Palette): void {
  const { x, y, width, height } = box;
  context.fillStyle = colours[status];
  const third = height / 3;
  if (status === 'ok') context.fillRect(x, y, width, height);
  else if (status === 'fail') context.fillRect(x, y + height / 2, width, height / 2);
  else if (status === 'info') {
    context.fillRect(x, y, width, third);
    context.fillRect(x, y + 2 * third, width, third);
  } else for (let dot = 0; dot < height; dot += 4) context.fillRect(x, y + dot, width, 2);
}

export function drawCross(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.moveTo(x - radius, y - radius);
  context.lineTo(x + radius, y + radius);
  context.moveTo(x + radius, y - radius);
  context.lineTo(x - radius, y + radius);
  context.stroke();
}

/** Diagonal lines, which keep their place when the box moves only where it moves by whole steps. */
export function hatch(context: CanvasRenderingContext2D, box: Box, colour: string, step: number, back?: string): void {
  const { x, y, width, height } = box;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  if (back !== undefined) {
    context.fillStyle = back;
    context.fillRect(x, y, width, height);
  }
  context.strokeStyle = colour;
  context.lineWidth = 1.25;
  context.beginPath();
  for (let at = x - height; at < x + width; at += step) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

/** As much of it as there is room for; nothing, when that would say nothing. */
export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 14) return '';
  const width = context.measureText(text).width;
  if (width <= room) return text;
  const characters = Math.floor((text.length * (room - 7)) / width);
  return characters < 3 ? '' : `${text.slice(0, characters)}…`;
}
