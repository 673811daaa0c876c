/** Damages what a server's log has acknowledged, in the files of a server that is down. Waits while its disk hangs. */

import { open, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { BatchReader, parseSegmentFileName } from '@holdfast/raft';
import { acknowledgedPlace, type LogSegment } from '../../acknowledged-log.ts';
import { incarnationOf } from './incarnation.ts';

const PIECE_BYTES = 256 * 1024;

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
  const segments = await Promise.all(paths.map(segmentOf));
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

/** Without what is behind the last batch: a segment that is filled again still has what it held before. */
async function segmentOf(path: string): Promise<LogSegment> {
  const bytes = await readFile(path);
  const segment = parseSegmentFileName(basename(path))?.number ?? 0;
  const incarnation = incarnationOf(dirname(dirname(path)));
  const read = (position: number, length: number): Promise<Uint8Array> =>
    Promise.resolve(bytes.subarray(position, position + length));
  const options = { incarnation, segment, pieceBytes: PIECE_BYTES, sizeBytes: bytes.length };
  const reader = new BatchReader({ read }, options);
  let end = 0;
  for (let found = await reader.readAt(0); found.kind === 'batch'; found = await reader.readAt(end)) end = found.end;
  return { path, bytes: bytes.subarray(0, end) };
}

async function walFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.wal'))
    .toSorted()
    .map((name) => join(directory, name));
}
