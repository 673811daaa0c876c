/**
 * The durable tail marker: how far the log has got, in a file of its own: the last segment that has a batch, a place in it up to which everything was
 * acknowledged, and the term. Without it nobody would miss the last segment, nor the last batch, since only what comes later shows
 * that it was acknowledged; nor would anybody know above which term a server with a damaged log has to begin again.
 *
 * Written after a batch that begins a segment or changes the term is durable and before it is acknowledged, and when the log is closed
 * or opened; not with every batch. So a log that does not reach its marker has lost something.
 *
 * One line, overwritten in place: a full disk does not stop it. A torn or foreign one counts for nothing and is written anew.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DiskError, type Disk, type DiskFile } from '@holdfast/runtime';
import { term, type Term } from '../../core/index.ts';

const TAIL_MARKER_NAME = 'last-segment';

const PATTERN = /^segment (\d{12}) byte (\d{16}) term (\d{16}) ([0-9a-f]{8})\n$/;
const SEGMENT_DIGITS = 12;
const NUMBER_DIGITS = 16;

export interface TailMarker {
  /** 0 before the first batch. */
  readonly segment: number;
  /** Everything before it in that segment was acknowledged. */
  readonly position: number;
  /** Of the hard state; none that this server ever told is higher. */
  readonly term: Term;
}

/** Undefined when nothing is marked. */
export async function readTailMarker(
  directory: string,
  incarnation: string,
  disk: Disk,
): Promise<TailMarker | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await disk.readFile(join(directory, TAIL_MARKER_NAME));
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
  const text = new TextDecoder().decode(bytes);
  const match = PATTERN.exec(text);
  const [segment, position, markedTerm] = [1, 2, 3].map((group) => Number(match?.[group]));
  if (segment === undefined || position === undefined || !Number.isSafeInteger(markedTerm)) return undefined;
  const mark = { segment, position, term: term(markedTerm ?? 0) };
  return text === markerLine(mark, incarnation) ? mark : undefined;
}

/** **Durable** on resolve. */
export async function writeTailMarker(
  directory: string,
  incarnation: string,
  mark: TailMarker,
  disk: Disk,
): Promise<void> {
  const file = await openOrCreate(directory, disk);
  try {
    await file.append(0, [new TextEncoder().encode(markerLine(mark, incarnation))]);
  } finally {
    await file.close();
  }
}

async function openOrCreate(directory: string, disk: Disk): Promise<DiskFile> {
  const path = join(directory, TAIL_MARKER_NAME);
  try {
    return await disk.open(path, 'existing');
  } catch (error) {
    if (!(error instanceof DiskError && error.code === 'NOT_FOUND')) throw error;
  }
  const file = await disk.open(path, 'create');
  await disk.syncDirectory(directory);
  return file;
}

function markerLine({ segment, position, term: markedTerm }: TailMarker, incarnation: string): string {
  const text = `segment ${digits(segment, SEGMENT_DIGITS)} byte ${digits(position, NUMBER_DIGITS)} term ${digits(markedTerm, NUMBER_DIGITS)}`;
  return `${text} ${crc32(text, crc32(incarnation)).toString(16).padStart(8, '0')}\n`;
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
