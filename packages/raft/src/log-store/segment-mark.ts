/**
 * How far the log has got, in a file of its own: the last segment that has a batch. Without it nobody would miss the last segment,
 * since only a later one names those before it. Written after the first batch of a segment is durable and before it is acknowledged,
 * so a log that does not reach its mark has lost something.
 *
 * One line, overwritten in place: a full disk does not stop it. A torn or foreign one counts for nothing and is written anew.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DiskError, type Disk, type DiskFile } from '@holdfast/runtime';

const SEGMENT_MARK_NAME = 'last-segment';

const PATTERN = /^segment (\d{12}) ([0-9a-f]{8})\n$/;
const NUMBER_DIGITS = 12;

/** 0 when nothing is marked. */
export async function readSegmentMark(directory: string, incarnation: string, disk: Disk): Promise<number> {
  let bytes: Uint8Array;
  try {
    bytes = await disk.readFile(join(directory, SEGMENT_MARK_NAME));
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return 0;
    throw error;
  }
  const text = new TextDecoder().decode(bytes);
  const number = Number(PATTERN.exec(text)?.[1] ?? 0);
  return text === markLine(number, incarnation) ? number : 0;
}

/** **Durable** on resolve. */
export async function writeSegmentMark(
  directory: string,
  incarnation: string,
  number: number,
  disk: Disk,
): Promise<void> {
  const file = await openOrCreate(directory, disk);
  try {
    await file.append(0, [new TextEncoder().encode(markLine(number, incarnation))]);
  } finally {
    await file.close();
  }
}

async function openOrCreate(directory: string, disk: Disk): Promise<DiskFile> {
  const path = join(directory, SEGMENT_MARK_NAME);
  try {
    return await disk.open(path, 'existing');
  } catch (error) {
    if (!(error instanceof DiskError && error.code === 'NOT_FOUND')) throw error;
  }
  const file = await disk.open(path, 'create');
  await disk.syncDirectory(directory);
  return file;
}

function markLine(number: number, incarnation: string): string {
  const text = `segment ${String(number).padStart(NUMBER_DIGITS, '0')}`;
  return `${text} ${crc32(text, crc32(incarnation)).toString(16).padStart(8, '0')}\n`;
}
