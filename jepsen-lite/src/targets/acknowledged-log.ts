/** Where a server's log holds what it has acknowledged for good: anywhere but in its last batch, which could be taken for a torn write. */

/** A log with fewer bytes has too little to damage. */
const MIN_LOG_BYTES = 4_096;
/** How the frame that closes a batch begins (docs/formats.md); the length of the batch and its checksum follow. */
const COMMIT_FRAME = Buffer.from([5, 0x48, 0x46, 0x57, 8, 0, 0, 0]);
const COMMIT_FRAME_BYTES = 16;

export interface LogSegment {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface LogPlace {
  readonly path: string;
  readonly offset: number;
}

/**
 * @param segments in the order of the log
 * @param at how far into the log, from 0 to 1
 * @returns undefined when there is too little of it
 */
export function acknowledgedPlace(segments: readonly LogSegment[], at: number): LogPlace | undefined {
  const ends = segments.map(({ bytes }) => acknowledgedBytes(bytes));
  const total = ends.reduce((sum, bytes) => sum + bytes, 0);
  if (total < MIN_LOG_BYTES) return undefined;
  let offset = Math.floor(at * total);
  for (const [place, { path }] of segments.entries()) {
    const bytes = ends[place] ?? 0;
    if (offset < bytes) return { path, offset };
    offset -= bytes;
  }
  return undefined;
}

/** Where the last batch of a segment begins: its commit frame has its length. */
function acknowledgedBytes(segment: Uint8Array): number {
  const at = Buffer.from(segment.buffer, segment.byteOffset, segment.length).lastIndexOf(COMMIT_FRAME);
  if (at === -1) return 0;
  const length = new DataView(segment.buffer, segment.byteOffset).getUint32(at + COMMIT_FRAME.length, true);
  return Math.max(0, at + COMMIT_FRAME_BYTES - length);
}
