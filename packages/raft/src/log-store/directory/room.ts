/** Whether a start would find room on the disk, asked before it changes anything: a server must not get half way. */

import { dirname, join } from 'node:path';
import { DiskError, type Disk } from '@holdfast/runtime';
import { fileSize } from '../files/file-size.ts';
import { PREPARED_SEGMENT_NAME, SPARE_SEGMENT_NAME } from '../segments/segment-name.ts';

/** Identity, mark, lock and names, with room to spare. */
const SMALL_FILES_BYTES = 64 * 1024;

export interface RoomNeeds {
  readonly path: string;
  readonly logDirectory: string;
  readonly segmentBytes: number;
}

/**
 * A new directory needs its first segment, an existing one what its next segment lacks: that is made of the spare one, or in the room
 * that what was prepared, and a spare of another size, give back.
 * @throws DiskError NO_SPACE, which names the free and the needed bytes
 */
export async function requireRoom({ path, logDirectory, segmentBytes }: RoomNeeds, disk: Disk): Promise<void> {
  let heldBytes = 0;
  for (const name of [PREPARED_SEGMENT_NAME, SPARE_SEGMENT_NAME]) {
    heldBytes += (await fileSize(join(logDirectory, name), disk)) ?? 0;
  }
  const neededBytes = Math.max(0, segmentBytes - heldBytes) + SMALL_FILES_BYTES;
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

function isNotFound(error: unknown): boolean {
  return error instanceof DiskError && error.code === 'NOT_FOUND';
}
