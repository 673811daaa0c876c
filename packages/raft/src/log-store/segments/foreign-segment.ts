/**
 * Whose segment it is that does not begin with a batch of this log. One that was copied from another server has wrong checksums here;
 * its header says what it is, if its checksum is right for whom it names.
 */

import { MalformedError } from '@holdfast/protocol';
import type { DiskFile } from '@holdfast/runtime';
import { BatchReader } from '../format/batch-reader.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import {
  decodeSegmentHeader,
  FRAME_HEADER_BYTES,
  FrameType,
  parseFrameHeader,
  type LogIdentity,
  type SegmentHeader,
} from '../format/frame.ts';
import { IdentityMismatchError } from '../errors/identity-mismatch-error.ts';

const PIECE_BYTES = 64 * 1024;

interface SegmentPlace {
  /** The segment's number. */
  readonly segment: number;
  readonly sizeBytes: number;
}

/**
 * Returns when it is nobody's.
 * @throws IdentityMismatchError, DamagedLogError, DiskError
 */
export async function refuseForeignSegment(file: DiskFile, place: SegmentPlace, own: LogIdentity): Promise<void> {
  const header = await headerOf(file, place, own);
  if (header === undefined) return;
  const { incarnation: claimed } = header;
  const named = new BatchReader(file, { ...place, incarnation: claimed, pieceBytes: PIECE_BYTES });
  if ((await named.readAt(0)).kind !== 'batch') return;
  if (header.clusterId !== own.clusterId || header.serverId !== own.serverId) {
    throw new IdentityMismatchError(file.path, header, own);
  }
  if (claimed === own.incarnation) return;
  const problem = `it belongs to incarnation ${claimed}, the directory to ${own.incarnation}`;
  throw new DamagedLogError(file.path, 0, problem, { foreign: true });
}

async function headerOf(file: DiskFile, place: SegmentPlace, own: LogIdentity): Promise<SegmentHeader | undefined> {
  const { incarnation } = own;
  const reader = new BatchReader(file, { ...place, incarnation, pieceBytes: PIECE_BYTES });
  const frame = parseFrameHeader(await reader.view(0, FRAME_HEADER_BYTES));
  if (frame?.type !== FrameType.segment) return undefined;
  try {
    return decodeSegmentHeader(await reader.view(FRAME_HEADER_BYTES, frame.payloadBytes));
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
