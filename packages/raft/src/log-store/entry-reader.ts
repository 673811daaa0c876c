/**
 * Reads entries of an open log from its segments, beside writes: what a write truncates is left out at once, and what was compacted
 * is not there. Verifies every batch again.
 */

import type { Disk } from '@holdfast/runtime';
import { nextIndex, type Entry, type LogIndex } from '../core/index.ts';
import { BatchReader } from './batch-reader.ts';
import { DamagedLogError } from './damaged-log-error.ts';
import type { LogImage } from './log-image.ts';
import type { LogSegments } from './log-segments.ts';
import type { LogSpans, Span } from './log-spans.ts';

const READ_PIECE_BYTES = 128 * 1024;
const MAX_READ_PIECE_BYTES = 1024 * 1024;

export interface ReadableLog {
  readonly incarnation: string;
  readonly image: LogImage;
  readonly spans: LogSpans;
  readonly segments: LogSegments;
  /** Throws when it is closed. */
  readonly checkOpen: () => void;
}

export class EntryReader {
  readonly #log: ReadableLog;
  readonly #disk: Disk;

  constructor(log: ReadableLog, disk: Disk) {
    this.#log = log;
    this.#disk = disk;
  }

  /** As {@link LogStore.read}. */
  async read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    const { image, spans, segments, checkOpen } = this.#log;
    for (;;) {
      checkOpen();
      if (from <= image.base.index) return [];
      const { truncations } = spans;
      const first = segments.first.number;
      try {
        const entries = await this.#readOnce(from, to, maxBytes);
        if (truncations === spans.truncations) return entries;
      } catch (error) {
        // It may have been about to read what was removed meanwhile.
        if (truncations === spans.truncations && first === segments.first.number) throw error;
      }
    }
  }

  async #readOnce(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    const { image, spans } = this.#log;
    const result = new BoundedEntries(from, Math.min(to, image.lastIndex), maxBytes);
    while (!result.full) {
      const span = spans.find(result.next);
      if (span === undefined) break;
      await this.#readSegment(span.segment, result);
    }
    return result.entries;
  }

  async #readSegment(segment: number, result: BoundedEntries): Promise<void> {
    const { incarnation, spans, segments } = this.#log;
    const path = segments.pathOf(segment);
    const file = await this.#disk.open(path, 'existing');
    try {
      const { number: active, position } = segments.active;
      // Not beyond what is written: a piece that was read before a write would hide it.
      const sizeBytes = segment === active ? position : await file.size();
      const pieceBytes = Math.max(READ_PIECE_BYTES, Math.min(result.maxBytes, MAX_READ_PIECE_BYTES));
      const reader = new BatchReader(file, { incarnation, segment, sizeBytes, pieceBytes });
      while (!result.full) {
        const span = spans.find(result.next);
        if (span?.segment !== segment || span.end > sizeBytes) return;
        await readSpan({ reader, path }, span, result);
      }
    } finally {
      await file.close();
    }
  }
}

async function readSpan(
  { reader, path }: { readonly reader: BatchReader; readonly path: string },
  span: Span,
  result: BoundedEntries,
): Promise<void> {
  const before = result.next;
  let position = span.position;
  while (position < span.end && !result.full) {
    const read = await reader.readAt(position);
    if (read.kind !== 'batch') {
      throw new DamagedLogError(path, position, read.kind === 'end' ? 'a batch is gone' : read.reason);
    }
    for (const entry of read.batch.entries) result.offer(entry, span.lastIndex);
    position = read.end;
  }
  if (result.next === before && !result.full) {
    throw new DamagedLogError(path, span.position, `entry ${before} is not where it was written`);
  }
}

/** Consecutive entries up to a limit, taken from a stream that also has others. */
class BoundedEntries {
  readonly entries: Entry[] = [];
  next: LogIndex;
  full: boolean;
  readonly maxBytes: number;
  readonly #to: number;
  #bytes = 0;

  constructor(from: LogIndex, to: number, maxBytes: number) {
    this.next = from;
    this.#to = to;
    this.maxBytes = maxBytes;
    this.full = from > to;
  }

  offer(entry: Entry, spanLast: LogIndex): void {
    if (this.full || entry.index !== this.next || entry.index > spanLast) return;
    this.#bytes += entry.data.length;
    if (this.entries.length > 0 && this.#bytes > this.maxBytes) {
      this.full = true;
      return;
    }
    this.entries.push(entry);
    this.next = nextIndex(entry.index);
    this.full = this.next > this.#to || this.#bytes >= this.maxBytes;
  }
}
