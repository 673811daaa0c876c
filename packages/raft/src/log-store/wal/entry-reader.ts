/**
 * Reads entries of an open log from its segments, beside writes: what a write truncates is left out at once, and what was compacted
 * is not there. Verifies every batch again. Keeps the segment open in which a read stopped short, since the next goes on there.
 */

import type { Disk, DiskFile } from '@holdfast/runtime';
import { nextIndex, type Entry, type LogIndex } from '../../core/index.ts';
import { BatchReader } from '../format/batch-reader.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import type { LogImage } from '../contract/log-image.ts';
import type { LogSegments } from './log-segments.ts';
import type { LogSpans, Span } from '../segments/log-spans.ts';

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

interface OpenSegment {
  readonly number: number;
  readonly path: string;
  readonly file: DiskFile;
  readonly reader: BatchReader;
  /** Up to where the reader reads. */
  readonly sizeBytes: number;
}

export class EntryReader {
  readonly #log: ReadableLog;
  readonly #disk: Disk;
  /** At most one. While a read uses it, it is that read's. */
  #kept: OpenSegment | undefined;
  /** How many reads are at a segment, by its number; none that nobody reads. */
  readonly #readers = new Map<number, number>();
  #closed = false;

  constructor(log: ReadableLog, disk: Disk) {
    this.#log = log;
    this.#disk = disk;
  }

  /** As {@link LogStore.read}. */
  async read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    const { spans, segments, checkOpen } = this.#log;
    for (;;) {
      checkOpen();
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

  /** Whether a read is at that segment. No read begins at one that the log has let go. */
  reads(number: number): boolean {
    return this.#readers.has(number);
  }

  /** The segments before that one are gone. */
  async dropSegmentsBefore(number: number): Promise<void> {
    if (this.#kept !== undefined && this.#kept.number < number) await this.#letGo();
  }

  /** Reads that are under way end by themselves. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#letGo();
  }

  /** Counts as a reader of it before anything is awaited. */
  async #readSegment(number: number, result: BoundedEntries): Promise<void> {
    this.#readers.set(number, (this.#readers.get(number) ?? 0) + 1);
    try {
      await this.#readFrom(number, result);
    } finally {
      const others = (this.#readers.get(number) ?? 1) - 1;
      if (others > 0) this.#readers.set(number, others);
      else this.#readers.delete(number);
    }
  }

  async #readFrom(number: number, result: BoundedEntries): Promise<void> {
    const open = await this.#open(number, result.maxBytes);
    let keep = false;
    try {
      while (!result.full) {
        const span = this.#log.spans.find(result.next);
        if (span?.segment !== number || span.end > open.sizeBytes) return;
        await readSpan(open, span, result);
      }
      keep = result.stoppedShort;
    } finally {
      if (keep && this.#mayKeep(number)) this.#kept = open;
      else await open.file.close();
    }
  }

  #mayKeep(number: number): boolean {
    return this.#kept === undefined && !this.#closed && number >= this.#log.segments.first.number;
  }

  async #letGo(): Promise<void> {
    const kept = this.#kept;
    this.#kept = undefined;
    await kept?.file.close();
  }

  async #open(number: number, maxBytes: number): Promise<OpenSegment> {
    const { segments } = this.#log;
    const kept = this.#kept;
    if (kept !== undefined && kept.number === number) {
      this.#kept = undefined;
      const grown = number === segments.active.number && segments.active.position !== kept.sizeBytes;
      return grown ? this.#opened(kept.path, kept.file, number, maxBytes) : kept;
    }
    const path = segments.pathOf(number);
    await this.#letGo();
    return this.#opened(path, await this.#disk.open(path, 'existing'), number, maxBytes);
  }

  async #opened(path: string, file: DiskFile, number: number, maxBytes: number): Promise<OpenSegment> {
    const { incarnation, segments } = this.#log;
    try {
      const { number: active, position } = segments.active;
      // Not beyond what is written: a piece that was read before a write would hide it.
      const sizeBytes = number === active ? position : await file.size();
      const pieceBytes = Math.max(READ_PIECE_BYTES, Math.min(maxBytes, MAX_READ_PIECE_BYTES));
      const reader = new BatchReader(file, { incarnation, segment: number, sizeBytes, pieceBytes });
      return { number, path, file, reader, sizeBytes };
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}

async function readSpan({ reader, path }: OpenSegment, span: Span, result: BoundedEntries): Promise<void> {
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

  /** There was no room for all that was asked for. */
  get stoppedShort(): boolean {
    return this.full && this.next <= this.#to;
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
