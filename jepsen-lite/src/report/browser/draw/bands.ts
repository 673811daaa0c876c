/** Bands of what lasts: faults, leaders, and holders with what their clients believed. */

import type { FaultBand, HolderBand, LeaderBand } from '../../timeline/page-data.ts';
import type { Row } from '../../timeline/rows.ts';
import { hatch } from './bars.ts';
import { isInView, stretch, writeWithin, type Scene } from './scene.ts';

export const BAND_HEIGHT = 15;
const BELIEF_TOP = 17;
const ROOM_FOR_AN_EDGE = 6;

export function drawFaults(
  context: CanvasRenderingContext2D,
  scene: Scene,
  row: Row,
  bands: readonly FaultBand[],
): void {
  const { colours } = scene;
  for (const { startMs, endMs, label } of bands) {
    if (!isInView(scene, startMs, endMs)) continue;
    const [x, width] = stretch(scene, startMs, endMs, 2.5);
    const box = { x, y: row.top + 2, width, height: row.height - 4 };
    if (width < 4) {
      context.fillStyle = colours.fault;
      context.fillRect(box.x, box.y, box.width, box.height);
      continue;
    }
    context.save();
    context.globalAlpha *= 0.55;
    context.fillStyle = colours.fault;
    context.fillRect(box.x, box.y, box.width, box.height);
    context.restore();
    hatch(context, box, colours.fault, 6);
    writeWithin(context, label, box, colours['fault-ink']);
  }
}

export function drawLeaders(
  context: CanvasRenderingContext2D,
  scene: Scene,
  row: Row,
  bands: readonly LeaderBand[],
): void {
  const { colours } = scene;
  context.strokeStyle = colours.strong;
  context.setLineDash([1, 4]);
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, row.top + row.height / 2);
  context.lineTo(scene.width, row.top + row.height / 2);
  context.stroke();
  context.setLineDash([]);
  for (const { startMs, endMs, server, term } of bands) {
    if (!isInView(scene, startMs, endMs)) continue;
    const [x, width] = stretch(scene, startMs, endMs, 1.5);
    const box = { x, y: row.top + 1, width, height: row.height - 3 };
    context.fillStyle = term % 2 === 0 ? colours.leader : colours['leader-alt'];
    context.fillRect(box.x, box.y, box.width, box.height);
    context.fillStyle = colours['leader-ink'];
    context.fillRect(box.x, box.y, Math.min(1, box.width), box.height);
    const text = width > 78 ? `${server} · term ${term}` : `${server} · ${term}`;
    writeWithin(context, text, box, colours['leader-ink']);
  }
}

export function drawHolders(
  context: CanvasRenderingContext2D,
  scene: Scene,
  row: Row,
  bands: readonly HolderBand[],
): void {
  const { colours } = scene;
  for (const [place, { startMs, endMs, token, client, told }] of bands.entries()) {
    const lastMs = Math.max(endMs, told?.endMs ?? 0);
    if (!isInView(scene, startMs, lastMs)) continue;
    const [x, width] = stretch(scene, startMs, endMs, 1.5);
    const box = { x, y: row.top + 1, width, height: BAND_HEIGHT };
    context.fillStyle = place % 2 === 0 ? colours.holder : colours['holder-alt'];
    context.fillRect(box.x, box.y, box.width, box.height);
    context.fillStyle = colours['holder-ink'];
    if (width > ROOM_FOR_AN_EDGE) context.fillRect(box.x, box.y, 1, box.height);
    writeWithin(
      context,
      width > 110 ? `token ${token} · ${client}` : `${token} · ${client}`,
      box,
      colours['holder-ink'],
    );
    if (told === undefined) continue;
    const [from, length] = stretch(scene, told.startMs, Math.min(told.endMs, endMs), 1);
    context.fillStyle = colours.belief;
    if (told.startMs < endMs) context.fillRect(from, row.top + BELIEF_TOP + 1, length, 4);
  }
  // Over what the next holder believes.
  for (const { endMs, told } of bands) {
    if (told === undefined || told.endMs <= endMs || !isInView(scene, endMs, told.endMs)) continue;
    const [late, longer] = stretch(scene, Math.max(endMs, told.startMs), told.endMs, 2);
    hatch(context, { x: late, y: row.top + BELIEF_TOP, width: longer, height: 7 }, colours.stale, 3.5);
  }
}
