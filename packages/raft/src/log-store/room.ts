/** Whether a start would find room on the disk, asked before it changes anything: a server must not get half way. */

import { dirname, join } from 'node:path';
import { DiskError, type Disk } from '@holdfast/runtime';
import { PREPARED_SEGMENT_NAME } from './segment-name.ts';

/** Identity, mark, lock and names, with room to spare. */
const SMALL_FILES_BYTES = 64 * 1024;

export interface RoomNeeds {
  readonly path: string;
  readonly logDirectory: string;
  readonly segmentBytes: number;
}

/**
 * A new directory needs its first segment, an existing one what its next segment lacks.
 * @throws DiskError NO_SPACE, which names the free and the needed bytes
 */
export async function requireRoom({ path, logDirectory, segmentBytes }: RoomNeeds, disk: Disk): Promise<void> {
  const prepared = await sizeOf(join(logDirectory, PREPARED_SEGMENT_NAME), disk);
  const neededBytes = Math.max(0, segmentBytes - prepared) + SMALL_FILES_BYTES;
  const freeBytes = await freeBytesAbove(path, disk);
  if (freeBytes >= neededBytes) return;
  throw new DiskError(
    'NO_SPACE',
    path,
    `the disk of ${path} has ${freeBytes} bytes free, and this server needs ${neededBytes} to start: free space there, or move ` +
      'the directory to a larger disk. Nothing was changed',
  );
}

/** Of the nearest directory that exists. */
async function freeBytesAbove(path: string, disk: Disk): Promise<number> {
  for (let at = path; ; at = dirname(at)) {
    try {
      return await disk.freeBytes(at);
    } catch (error) {
      if (!isNotFound(error) || at === dirname(at)) throw error;
    }
  }
}

/** 0 when there is no such file. */
async function sizeOf(path: string, disk: Disk): Promise<number> {
  try {
    const file = await disk.open(path, 'existing');
    try {
      return await file.size();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isNotFound(error)) return 0;
    throw error;
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof DiskError && error.code === 'NOT_FOUND';
}
