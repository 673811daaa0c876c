/** What lies behind the last valid batch of a segment. Whether it was never acknowledged, or is lost, is for others to decide. */

import type { DiskFile } from '@holdfast/runtime';
import { BatchReader } from '../format/batch-reader.ts';
import { FRAME_ALIGNMENT, FRAME_HEADER_BYTES, parseFrameHeader } from '../format/frame.ts';

const PIECE_BYTES = 1024 * 1024;

interface TailPlace {
  readonly incarnation: string;
  /** The segment's number. */
  readonly segment: number;
  readonly sizeBytes: number;
  /** Where the last valid batch ends. */
  readonly from: number;
}

export interface SegmentTail {
  /** Where the zeros begin that go on to the end of the file; `from` when there is nothing else. */
  readonly usedTo: number;
  /** Where a valid batch begins to which nothing leads; undefined when there is none. */
  readonly validAt: number | undefined;
}

export async function scanTail(file: DiskFile, { from, ...segment }: TailPlace): Promise<SegmentTail> {
  const { sizeBytes } = segment;
  // Most of a segment is zeros, and every start reads them: fresh memory for each piece would cost more than the reading.
  const room = new Uint8Array(Math.min(PIECE_BYTES, sizeBytes - from));
  const candidates = new BatchReader(file, { ...segment, pieceBytes: PIECE_BYTES });
  let usedTo = from;
  for (let at = from; at < sizeBytes; at += PIECE_BYTES) {
    const piece = await file.read(at, Math.min(PIECE_BYTES, sizeBytes - at), room);
    const used = usedLength(piece);
    if (used === 0) continue;
    usedTo = at + used;
    for (let offset = 0; offset + FRAME_HEADER_BYTES <= used + FRAME_ALIGNMENT; offset += FRAME_ALIGNMENT) {
      if (offset + FRAME_HEADER_BYTES > piece.length) break;
      if (parseFrameHeader(piece.subarray(offset, offset + FRAME_HEADER_BYTES)) === undefined) continue;
      const validAt = at + offset;
      const read = validAt > from ? await candidates.readAt(validAt) : undefined;
      if (read !== undefined && read.kind !== 'end' && read.kind !== 'invalid') return { usedTo, validAt };
    }
  }
  return { usedTo, validAt: undefined };
}

const ZEROS = new Uint8Array(4 * 1024);

/** Without the zeros at its end: most of a segment, so they are compared in blocks first. */
function usedLength(bytes: Uint8Array): number {
  let length = bytes.length;
  while (length >= ZEROS.length && Buffer.compare(bytes.subarray(length - ZEROS.length, length), ZEROS) === 0) {
    length -= ZEROS.length;
  }
  while (length > 0 && bytes[length - 1] === 0) length -= 1;
  return length;
}
