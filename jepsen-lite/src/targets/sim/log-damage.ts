/** Damages what a server's log has acknowledged, anywhere but in its last batch, which could be taken for a torn write. */

import type { SimHost } from '@holdfast/runtime/sim';

/** A log with fewer bytes has too little to damage. */
const MIN_LOG_BYTES = 4_096;
/** How the frame that closes a batch begins (docs/formats.md); the length of the batch and its checksum follow. */
const COMMIT_FRAME = Buffer.from([5, 0x48, 0x46, 0x57, 8, 0, 0, 0]);
const COMMIT_FRAME_BYTES = 16;

/** `at`: how far into the log, from 0 to 1. False when there is too little of it. */
export function flipAcknowledgedBit(disk: SimHost['disk'], at: number, bit: number): boolean {
  const present = new Set(disk.files());
  const segments = disk
    .durableFiles()
    // One that was renamed, which is not durable yet, is there under its new name.
    .filter((path) => path.endsWith('.wal') && present.has(path))
    .toSorted();
  const ends = segments.map((path) => acknowledgedBytes(disk.durableBytes(path) ?? new Uint8Array()));
  const total = ends.reduce((sum, bytes) => sum + bytes, 0);
  if (total < MIN_LOG_BYTES) return false;
  let offset = Math.floor(at * total);
  for (const [place, path] of segments.entries()) {
    const bytes = ends[place] ?? 0;
    if (offset < bytes) {
      disk.flipBit(path, offset, bit);
      return true;
    }
    offset -= bytes;
  }
  return false;
}

/** Where the last batch of a segment begins: its commit frame tells its length. */
function acknowledgedBytes(segment: Uint8Array): number {
  const at = Buffer.from(segment.buffer, segment.byteOffset, segment.length).lastIndexOf(COMMIT_FRAME);
  if (at === -1) return 0;
  const length = new DataView(segment.buffer, segment.byteOffset).getUint32(at + COMMIT_FRAME.length, true);
  return Math.max(0, at + COMMIT_FRAME_BYTES - length);
}
