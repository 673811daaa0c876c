/** Damages what a server's log has acknowledged, in the files of a server that is down. Waits while its disk hangs. */

import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { acknowledgedPlace } from '../../acknowledged-log.ts';

/** A snapshot has let a part of the log go meanwhile, or the disk has lost its power. */
const GONE = new Set(['ENOENT', 'EIO', 'EROFS']);

/**
 * @param directory the server's data
 * @param at how far into the log, from 0 to 1
 * @returns false when there is too little of it, or what there was is gone
 */
export async function flipAcknowledgedBit(directory: string, at: number, bit: number): Promise<boolean> {
  try {
    return await flip(directory, at, bit);
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

async function flip(directory: string, at: number, bit: number): Promise<boolean> {
  const paths = await walFiles(directory);
  const segments = await Promise.all(paths.map(async (path) => ({ path, bytes: await readFile(path) })));
  const place = acknowledgedPlace(segments, at);
  if (place === undefined) return false;
  const file = await open(place.path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, place.offset);
    byte.writeUInt8(byte.readUInt8() ^ (1 << bit));
    await file.write(byte, 0, 1, place.offset);
    await file.sync();
    return true;
  } finally {
    await file.close();
  }
}

async function walFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.wal'))
    .toSorted()
    .map((name) => join(directory, name));
}
