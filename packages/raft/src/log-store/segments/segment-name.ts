/**
 * Names of segment files: a number that grows by one, and the log index that came next when the segment began, so that a listing
 * sorts in log order and shows what each holds.
 */

import { logIndex, type LogIndex } from '../../core/index.ts';

/** Zero-filled ahead of need; gets its name when the log reaches it. */
export const PREPARED_SEGMENT_NAME = 'next.prepared';
/** Taken out of the log by compaction, to be made the next one; there is one at most. */
export const SPARE_SEGMENT_NAME = 'spare.recycled';
export const SEGMENT_SUFFIX = '.wal';

const NUMBER_DIGITS = 12;
const INDEX_DIGITS = 16;
const PATTERN = /^(\d{12})-(\d{16})\.wal$/;

export interface SegmentName {
  /** 1 for the first segment of a directory. */
  readonly number: number;
  readonly firstIndex: LogIndex;
}

export function segmentFileName({ number, firstIndex }: SegmentName): string {
  return `${digits(number, NUMBER_DIGITS)}-${digits(firstIndex, INDEX_DIGITS)}${SEGMENT_SUFFIX}`;
}

/** Undefined for anything that {@link segmentFileName} does not make. */
export function parseSegmentFileName(file: string): SegmentName | undefined {
  const match = PATTERN.exec(file);
  if (match === null) return undefined;
  const number = Number(match[1]);
  const firstIndex = Number(match[2]);
  if (number < 1 || firstIndex < 1 || !Number.isSafeInteger(firstIndex)) return undefined;
  return { number, firstIndex: logIndex(firstIndex) };
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
