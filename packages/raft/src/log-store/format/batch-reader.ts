/**
 * Reads batches of one segment and verifies them. Holds one batch and one piece of the file in memory, whatever the file's size.
 * What an invalid batch means (never acknowledged, or lost) is not decided here.
 */

import { crc32 } from 'node:zlib';
import { MalformedError } from '@holdfast/protocol';
import type { DiskFile } from '@holdfast/runtime';
import {
  batchSeed,
  logSeed,
  COMMIT_FRAME_BYTES,
  commits,
  decodeBatch,
  FRAME_HEADER_BYTES,
  frameBytes,
  FrameType,
  parseFrameHeader,
  UnsupportedSegmentError,
  type LoggedBatch,
} from './frame.ts';

export type BatchRead =
  | { readonly kind: 'batch'; readonly batch: LoggedBatch; readonly end: number }
  /** The file ends here, or is zero where a batch would begin. */
  | { readonly kind: 'end' }
  | { readonly kind: 'invalid'; readonly reason: string }
  /** The CRC is right and the content is not. Never a torn write. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** The CRC is right, and the content is of a later version. */
  | { readonly kind: 'unsupported'; readonly reason: string };

export interface BatchReaderOptions {
  readonly incarnation: string;
  /** The segment's number. */
  readonly segment: number;
  /** Nothing is read beyond. */
  readonly sizeBytes: number;
  /** How much is read at once. */
  readonly pieceBytes: number;
}

const SHRUNK = 'the file became shorter while it was read';

export class BatchReader {
  readonly #file: Pick<DiskFile, 'read'>;
  readonly #options: BatchReaderOptions;
  readonly #seed: number;
  #piece: Uint8Array = new Uint8Array(0);
  #pieceAt = 0;

  constructor(file: Pick<DiskFile, 'read'>, options: BatchReaderOptions) {
    this.#file = file;
    this.#options = options;
    this.#seed = logSeed(options.incarnation);
  }

  async readAt(position: number): Promise<BatchRead> {
    const { segment, sizeBytes } = this.#options;
    const frames: { readonly type: FrameType; readonly payload: Uint8Array }[] = [];
    let crc = batchSeed(this.#seed, segment, position);
    let at = position;
    for (;;) {
      if (at + FRAME_HEADER_BYTES > sizeBytes) {
        return at === position ? { kind: 'end' } : { kind: 'invalid', reason: 'the file ends within a batch' };
      }
      const start = this.#present(at, FRAME_HEADER_BYTES) ?? (await this.view(at, FRAME_HEADER_BYTES));
      if (start.length < FRAME_HEADER_BYTES) return { kind: 'invalid', reason: SHRUNK };
      if (at === position && start[0] === 0 && start.every((byte) => byte === 0)) return { kind: 'end' };
      const header = parseFrameHeader(start);
      if (header === undefined) return { kind: 'invalid', reason: 'a batch has bytes that are no frame' };
      const length = frameBytes(header.payloadBytes);
      if (at + length > sizeBytes) return { kind: 'invalid', reason: 'a frame is longer than the rest of the file' };
      const frame = this.#present(at, length) ?? (await this.view(at, length));
      if (frame.length < length) return { kind: 'invalid', reason: SHRUNK };
      if (header.type === FrameType.commit) {
        const end = at + COMMIT_FRAME_BYTES;
        if (!commits(frame, end - position, crc))
          return { kind: 'invalid', reason: 'the checksum of a batch is wrong' };
        return decode(frames, end);
      }
      crc = crc32(frame, crc);
      frames.push({
        type: header.type,
        payload: frame.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + header.payloadBytes),
      });
      at += length;
    }
  }

  /** Bytes of the file; shorter only at its end. The view stays valid: pieces are never written again. */
  async view(position: number, length: number): Promise<Uint8Array> {
    const present = this.#present(position, length);
    if (present !== undefined) return present;
    const { sizeBytes, pieceBytes } = this.#options;
    const end = Math.min(position + length, sizeBytes);
    this.#piece = await this.#file.read(position, Math.min(Math.max(end - position, pieceBytes), sizeBytes - position));
    this.#pieceAt = position;
    return this.#piece.subarray(0, end - position);
  }

  /** Of the piece that was read last: a promise for each frame would cost more than the frame. */
  #present(position: number, length: number): Uint8Array | undefined {
    const end = Math.min(position + length, this.#options.sizeBytes);
    if (position < this.#pieceAt || end > this.#pieceAt + this.#piece.length) return undefined;
    return this.#piece.subarray(position - this.#pieceAt, end - this.#pieceAt);
  }
}

function decode(frames: readonly { readonly type: FrameType; readonly payload: Uint8Array }[], end: number): BatchRead {
  if (frames.length === 0) return { kind: 'malformed', reason: 'a batch is empty' };
  try {
    return { kind: 'batch', batch: decodeBatch(frames), end };
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    return { kind: error instanceof UnsupportedSegmentError ? 'unsupported' : 'malformed', reason: error.message };
  }
}
