/**
 * The log store for production: a write-ahead log in segments. One batch is one durable disk operation, all or nothing over a crash
 * (docs/formats.md). Opening it repairs a torn tail and refuses a damaged log; a failed write is final.
 */

import { join } from 'node:path';
import type { Disk, DiskFile, Logger } from '@holdfast/runtime';
import { invariant, nextIndex, type Entry, type LogIndex } from '../core/index.ts';
import { BatchReader } from './batch-reader.ts';
import { DamagedLogError } from './damaged-log-error.ts';
import {
  batchBytes,
  batchSeed,
  encodeBatch,
  logSeed,
  MAX_ENTRY_BYTES,
  WAL_FORMAT_VERSION,
  type LogIdentity,
  type LoggedBatch,
  type SegmentHeader,
} from './frame.ts';
import type { LogImage } from './log-image.ts';
import type { LogSpans, Span } from './log-spans.ts';
import type { DurableState, LogStore, WriteBatch } from './log-store.ts';
import { listSegments, LogRecovery, MIN_SEGMENT_BYTES, type ByteRange, type RecoveredLog } from './recovery.ts';
import { SegmentPreparer } from './segment-preparer.ts';
import { writeSegmentMark } from './segment-mark.ts';
import { segmentFileName } from './segment-name.ts';

export const DEFAULT_SEGMENT_BYTES = 64 * 1024 * 1024;
const READ_PIECE_BYTES = 128 * 1024;
const MAX_READ_PIECE_BYTES = 1024 * 1024;
const REPAIR_PIECE_BYTES = 1024 * 1024;

export interface WriteAheadLogOptions extends LogIdentity {
  readonly directory: string;
  /** Rounded up to 4 KiB. A batch that is larger gets a segment of its own size. @default 64 MiB */
  readonly segmentBytes?: number;
}

export interface WriteAheadLogWorld {
  readonly disk: Disk;
  readonly logger: Logger;
}

/**
 * Opens the log in `directory`; one without segments becomes an empty log. The directory must be this process's alone
 * ({@link openDataDirectory} takes care of that, and of telling a new log from a lost one).
 * @throws DamagedLogError, IdentityMismatchError, DiskError
 */
export async function openWriteAheadLog(options: WriteAheadLogOptions, world: WriteAheadLogWorld): Promise<LogStore> {
  const { directory } = options;
  const { disk, logger } = world;
  await createWriteAheadLog(options, world);
  const recovered = new LogRecovery(directory, options, disk);
  await recovered.run();
  if (recovered.tornTail !== undefined) await cutTornTail(recovered.tornTail, world);
  await makeFoundDurable(directory, recovered.lastBatch, disk);
  const active = recovered.segments.at(-1);
  invariant(active !== undefined, 'a-log-has-a-segment');
  if (active.usedBytes > 0 && recovered.markedSegment < active.number) {
    await writeSegmentMark(directory, options.incarnation, active.number, disk);
  }
  const file = await disk.open(active.file, 'existing');
  const log = new WriteAheadLog(options, recovered, file, world);
  const { hardState, lastIndex } = log.durable;
  logger.info(
    { directory, segments: recovered.segments.length, index: lastIndex, term: hardState.term },
    'opened the log',
  );
  return log;
}

/** Makes a log without entries, **durable** on resolve, where there is none. */
export async function createWriteAheadLog(
  { directory, segmentBytes }: Pick<WriteAheadLogOptions, 'directory' | 'segmentBytes'>,
  { disk, logger }: WriteAheadLogWorld,
): Promise<void> {
  await disk.makeDirectory(directory);
  if ((await listSegments(directory, disk)).length > 0) return;
  const preparer = new SegmentPreparer(
    { directory, segmentBytes: roundedSegmentBytes(segmentBytes) },
    { disk, logger },
  );
  try {
    const file = await preparer.take({ number: 1, firstIndex: nextIndex(0 as LogIndex) });
    await file.close();
  } finally {
    await preparer.close();
  }
}

/** Durable before anything else is written: what is cut must not come back behind a later, shorter write. */
async function cutTornTail({ file: path, from, to }: ByteRange, { disk, logger }: WriteAheadLogWorld): Promise<void> {
  logger.info(
    { file: path, offset: from, bytes: to - from },
    'cut a write that was never acknowledged off the end of the log',
  );
  const file = await disk.open(path, 'existing');
  try {
    for (let at = from; at < to; at += REPAIR_PIECE_BYTES) {
      await file.append(at, [new Uint8Array(Math.min(REPAIR_PIECE_BYTES, to - at))]);
    }
  } finally {
    await file.close();
  }
}

/**
 * What was read need not be on disk: a process that was killed, or that stopped at a failed write, leaves its last write in the page
 * cache, where a start finds it and a power failure then loses it, though the server has acknowledged it meanwhile. After a failed
 * write the kernel takes such pages for clean and no sync writes them, so the last batch is written again. Every batch before it was
 * acknowledged by the disk, since one write is in flight at a time; of the names, the last segment's may be new.
 */
async function makeFoundDurable(directory: string, lastBatch: ByteRange | undefined, disk: Disk): Promise<void> {
  await disk.syncDirectory(directory);
  if (lastBatch === undefined) return;
  const { file: path, from, to } = lastBatch;
  const file = await disk.open(path, 'existing');
  try {
    for (let at = from; at < to; at += REPAIR_PIECE_BYTES) {
      await file.append(at, [await file.read(at, Math.min(REPAIR_PIECE_BYTES, to - at))]);
    }
  } finally {
    await file.close();
  }
}

function roundedSegmentBytes(segmentBytes = DEFAULT_SEGMENT_BYTES): number {
  return Math.max(1, Math.ceil(segmentBytes / MIN_SEGMENT_BYTES)) * MIN_SEGMENT_BYTES;
}

interface ActiveSegment {
  readonly number: number;
  readonly firstIndex: LogIndex;
  readonly file: DiskFile;
  readonly sizeBytes: number;
  /** Where the next batch goes. */
  position: number;
  /** Where the records of the segment before end. */
  readonly previousEnd: number;
}

class WriteAheadLog implements LogStore {
  readonly durable: DurableState;
  readonly #identity: LogIdentity;
  readonly #seed: number;
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #image: LogImage;
  readonly #spans: LogSpans;
  /** First index of each segment, by number − 1; with the number it makes the file's name. */
  readonly #firstIndexes: LogIndex[];
  readonly #preparer: SegmentPreparer;
  #active: ActiveSegment;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Counts truncations, so that a read notices one that came between. */
  #truncations = 0;
  #closed = false;

  constructor(
    options: WriteAheadLogOptions,
    recovered: RecoveredLog,
    file: DiskFile,
    { disk, logger }: WriteAheadLogWorld,
  ) {
    const { directory, clusterId, serverId, incarnation } = options;
    const { image, spans, segments } = recovered;
    const last = segments.at(-1);
    invariant(last !== undefined, 'a-log-has-a-segment');
    this.#identity = { clusterId, serverId, incarnation };
    this.#seed = logSeed(incarnation);
    this.#directory = directory;
    this.#disk = disk;
    this.#image = image;
    this.#spans = spans;
    this.#firstIndexes = segments.map((segment) => segment.firstIndex);
    this.#preparer = new SegmentPreparer(
      { directory, segmentBytes: roundedSegmentBytes(options.segmentBytes) },
      { disk, logger: logger.child({ component: 'log-store' }) },
    );
    this.#active = {
      number: last.number,
      firstIndex: last.firstIndex,
      file,
      sizeBytes: last.sizeBytes,
      position: last.usedBytes,
      previousEnd: segments.at(-2)?.usedBytes ?? 0,
    };
    this.durable = image.durableState();
  }

  write(batch: WriteBatch): Promise<void> {
    const writing = this.#write(batch).finally(() => {
      if (this.#writing === writing) this.#writing = undefined;
    });
    this.#writing ??= writing;
    return writing;
  }

  async read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    invariant(from >= 1, 'the-log-begins-at-1', () => `read from ${from}`);
    for (;;) {
      this.#checkOpen();
      const truncations = this.#truncations;
      const entries = await this.#readOnce(from, to, maxBytes);
      if (truncations === this.#truncations) return entries;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writing?.catch(() => {});
    await this.#preparer.close();
    await this.#active.file.close();
  }

  /** Runs up to its first disk operation at once, so that what it truncates is unreadable from the call on. */
  async #write(batch: WriteBatch): Promise<void> {
    this.#checkOpen();
    if (this.#failure !== undefined) throw this.#failure.error;
    invariant(this.#writing === undefined, 'one-write-in-flight');
    const contradiction = this.#image.contradiction(batch);
    invariant(contradiction === undefined, 'a-batch-follows-the-log', () => contradiction ?? '');
    for (const { index, data } of batch.entries) {
      invariant(
        data.length <= MAX_ENTRY_BYTES,
        'an-entry-fits-a-frame',
        () => `entry ${index} has ${data.length} bytes`,
      );
    }
    const content = withoutVoidTruncation(batch, this.#image.lastIndex);
    if (isEmpty(content)) return;
    const header = this.#nextHeader();
    if (content.truncateFrom !== undefined) this.#truncate(content.truncateFrom);
    try {
      await this.#persist(content, header);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  async #persist(content: WriteBatch, header: HeaderFields): Promise<void> {
    const { position, sizeBytes } = this.#active;
    if (position > 0 && position + batchBytes(content) > sizeBytes) await this.#switchSegment(header.firstIndex);
    const active = this.#active;
    const batch = active.position > 0 ? content : this.#withHeader(content, header);
    const bytes = encodeBatch(batch, batchSeed(this.#seed, active.number, active.position));
    await active.file.append(active.position, [bytes]);
    if (active.position === 0) {
      await writeSegmentMark(this.#directory, this.#identity.incarnation, active.number, this.#disk);
    }
    this.#applied(content, bytes.length);
    this.#preparer.advance(active.position);
  }

  #applied({ hardState, entries }: WriteBatch, bytes: number): void {
    const active = this.#active;
    const place = { segment: active.number, position: active.position, end: active.position + bytes };
    active.position = place.end;
    if (hardState !== undefined) this.#image.setHardState(hardState);
    this.#image.append(entries);
    const first = entries[0];
    if (first !== undefined) this.#spans.append(first.index, this.#image.lastIndex, place);
  }

  #truncate(index: LogIndex): void {
    this.#image.truncateFrom(index);
    this.#spans.truncateFrom(index);
    this.#truncations += 1;
  }

  /** Describes the log as it is on disk, before the batch that the header may come to stand in. */
  #nextHeader(): HeaderFields {
    const { lastIndex, lastTerm } = this.#image;
    return { firstIndex: nextIndex(lastIndex), previousTerm: lastTerm };
  }

  #withHeader(content: WriteBatch, { firstIndex, previousTerm }: HeaderFields): LoggedBatch {
    const { number, previousEnd } = this.#active;
    return {
      ...content,
      header: { ...this.#identity, version: WAL_FORMAT_VERSION, number, firstIndex, previousTerm, previousEnd },
      hardState: content.hardState ?? this.#image.hardState,
    };
  }

  async #switchSegment(firstIndex: LogIndex): Promise<void> {
    const { file, number, position } = this.#active;
    const next = await this.#preparer.take({ number: number + 1, firstIndex });
    this.#active = {
      number: number + 1,
      firstIndex,
      file: next,
      sizeBytes: await next.size(),
      position: 0,
      previousEnd: position,
    };
    this.#firstIndexes.push(firstIndex);
    await file.close();
  }

  async #readOnce(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    const result = new BoundedEntries(from, Math.min(to, this.#image.lastIndex), maxBytes);
    while (!result.full) {
      const span = this.#spans.find(result.next);
      if (span === undefined) break;
      await this.#readSegment(span.segment, result);
    }
    return result.entries;
  }

  async #readSegment(segment: number, result: BoundedEntries): Promise<void> {
    const path = this.#segmentPath(segment);
    const file = await this.#disk.open(path, 'existing');
    try {
      const { number: active, position } = this.#active;
      // Not beyond what is written: a piece that was read before a write would hide it.
      const sizeBytes = segment === active ? position : await file.size();
      const pieceBytes = Math.max(READ_PIECE_BYTES, Math.min(result.maxBytes, MAX_READ_PIECE_BYTES));
      const { incarnation } = this.#identity;
      const reader = new BatchReader(file, { incarnation, segment, sizeBytes, pieceBytes });
      while (!result.full) {
        const span = this.#spans.find(result.next);
        if (span?.segment !== segment || span.end > sizeBytes) return;
        await this.#readSpan({ reader, path }, span, result);
      }
    } finally {
      await file.close();
    }
  }

  async #readSpan(
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

  #segmentPath(number: number): string {
    const firstIndex = this.#firstIndexes[number - 1];
    invariant(firstIndex !== undefined, 'a-span-is-in-a-known-segment');
    return join(this.#directory, segmentFileName({ number, firstIndex }));
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error(`the log in ${this.#directory} is closed`);
  }
}

type HeaderFields = Pick<SegmentHeader, 'firstIndex' | 'previousTerm'>;

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

function withoutVoidTruncation(batch: WriteBatch, lastIndex: LogIndex): WriteBatch {
  const { truncateFrom, ...rest } = batch;
  return truncateFrom === undefined || truncateFrom > lastIndex ? rest : batch;
}

function isEmpty({ hardState, truncateFrom, entries }: WriteBatch): boolean {
  return hardState === undefined && truncateFrom === undefined && entries.length === 0;
}
