/**
 * The log store for production: a write-ahead log in segments. One batch is one durable disk operation, all or nothing over a crash
 * (docs/formats.md). Opening it repairs a torn tail and refuses a damaged log; a failed write is final.
 */

import { join } from 'node:path';
import { commonFeatures, NO_FEATURES } from '@holdfast/protocol';
import type { Disk, DiskFile, Logger } from '@holdfast/runtime';
import {
  invariant,
  maxTerm,
  nextIndex,
  NO_SERVER,
  previousIndex,
  type Entry,
  type LogIndex,
  type LogPosition,
} from '../core/index.ts';
import { BatchReader } from './batch-reader.ts';
import { DamagedLogError } from './damaged-log-error.ts';
import {
  demands,
  DiskFeature,
  featuresOfEntries,
  unrecordedFeatures,
  type DirectoryFeatures,
} from './disk-features.ts';
import {
  batchBytes,
  batchSeed,
  encodeBatch,
  logSeed,
  MAX_ENTRY_BYTES,
  type LogIdentity,
  type LoggedBatch,
  type SegmentHeader,
} from './frame.ts';
import type { LogImage } from './log-image.ts';
import type { LogSpans, Span } from './log-spans.ts';
import type { DurableState, LogStore, WriteBatch } from './log-store.ts';
import { listSegments, LogRecovery, MIN_SEGMENT_BYTES, type ByteRange, type RecoveredLog } from './recovery.ts';
import { repairLog, type LogPlace } from './repair.ts';
import { SegmentPreparer } from './segment-preparer.ts';
import { writeSegmentMark, type SegmentMark } from './segment-mark.ts';
import { segmentFileName } from './segment-name.ts';
import { chooseSnapshot, type SnapshotChoice } from './snapshot-choice.ts';
import { SnapshotFiles } from './snapshot-files.ts';
import type { SnapshotInfo, SnapshotMeta, SnapshotSink, SnapshotSource } from './snapshot.ts';
import { removeVoteBan } from './vote-ban.ts';
import { zeroFile } from './zero-file.ts';

export const DEFAULT_SEGMENT_BYTES = 64 * 1024 * 1024;
const READ_PIECE_BYTES = 128 * 1024;
const REWRITE_PIECE_BYTES = 1024 * 1024;
const MAX_READ_PIECE_BYTES = 1024 * 1024;

export interface WriteAheadLogOptions extends LogIdentity {
  readonly directory: string;
  /** Rounded up to 4 KiB. A batch that is larger gets a segment of its own size. @default 64 MiB */
  readonly segmentBytes?: number;
  /** Of the machine's bytes in one checked piece of a snapshot file. @default 256 KiB */
  readonly snapshotChunkBytes?: number;
  /**
   * A log that has lost acknowledged entries is cut where they begin, for a leader to send them again, under a ban on voting. Without it
   * such a log is refused. Only for a server that is not alone. @default false
   */
  readonly repair?: boolean;
  /** Hears of what is used in the log before it is. @default nobody: for a log that no other version of the program will open */
  readonly features?: DirectoryFeatures;
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
  const { directory, features = unrecordedFeatures() } = options;
  const { disk, logger } = world;
  const recovered = await recoverLog({ ...options, features }, world);
  const snapshots = new SnapshotFiles({ ...options, reserveBytes: roundedSegmentBytes(options.segmentBytes) }, disk);
  const choice = await chooseSnapshot(directory, recovered, options, disk);
  await recordFeatures(recovered, features);
  await useSnapshot(choice, snapshots, world);
  if (recovered.tornTail !== undefined) await cutTornTail(recovered.tornTail, world);
  await makeFoundDurable(directory, recovered.lastBatch, disk);
  const active = recovered.segments.at(-1);
  invariant(active !== undefined, 'a-log-has-a-segment');
  const mark = await markFound(recovered, options, disk);
  const file = await disk.open(active.file, 'existing');
  const log = new WriteAheadLog(options, recovered, { file, mark, snapshots, features }, world);
  await log.complete(choice.restartsLog ? choice.chosen?.info : undefined);
  const { hardState, lastIndex, snapshot } = log.durable;
  logger.info(
    {
      directory,
      segments: recovered.segments.length,
      index: lastIndex,
      term: hardState.term,
      snapshotIndex: snapshot?.index,
    },
    'opened the log',
  );
  return log;
}

/** Removes what stands in the way of it: leftovers of snapshots that were not finished, and damaged ones that are not needed. */
async function useSnapshot(
  { chosen, damaged }: SnapshotChoice,
  snapshots: SnapshotFiles,
  { disk, logger }: WriteAheadLogWorld,
): Promise<void> {
  await snapshots.removeTemporaries();
  for (const error of damaged) {
    logger.error(
      { file: error.file, reason: error.reason, index: chosen?.info.index ?? 0 },
      'removed a damaged snapshot; the log still reaches back to the state before it',
    );
    await disk.remove(error.file);
  }
  if (chosen !== undefined) snapshots.found(chosen.info, chosen.path);
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

async function cutTornTail({ file, from, to }: ByteRange, { disk, logger }: WriteAheadLogWorld): Promise<void> {
  logger.info(
    { file, offset: from, bytes: to - from },
    'cut a write that was never acknowledged off the end of the log',
  );
  await zeroFile(file, from, to, disk);
}

/** An identity that was restored from a copy may not say it; one that a crash kept from being written may still say it. */
async function recordFeatures(found: RecoveredLog, features: DirectoryFeatures): Promise<void> {
  await features.demand(found.features);
  if (found.voteBan === undefined) await features.waive(DiskFeature.voteBan);
}

async function recoverLog(
  options: WriteAheadLogOptions & { readonly features: DirectoryFeatures },
  world: WriteAheadLogWorld,
): Promise<LogRecovery> {
  try {
    await createWriteAheadLog(options, world);
    const recovered = new LogRecovery(options.directory, options, world.disk);
    await recovered.run();
    return recovered;
  } catch (error) {
    if (!(error instanceof DamagedLogError) || options.repair !== true) throw error;
    const { features } = options;
    return await repairLog(error, options, { ...world, features }, () => createWriteAheadLog(options, world));
  }
}

/** How far the log has got; what was found counts as acknowledged from here on. */
async function markFound({ mark, segments, image }: LogRecovery, options: LogPlace, disk: Disk): Promise<SegmentMark> {
  const last = segments.findLast(({ usedBytes }) => usedBytes > 0);
  const found = {
    segment: last?.number ?? 0,
    position: last?.usedBytes ?? 0,
    term: maxTerm(image.hardState.term, mark?.term ?? image.hardState.term),
  };
  const same = mark?.segment === found.segment && mark.position === found.position && mark.term === found.term;
  if (!same) await writeSegmentMark(options.directory, options.incarnation, found, disk);
  return found;
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
    for (let at = from; at < to; at += REWRITE_PIECE_BYTES) {
      await file.append(at, [await file.read(at, Math.min(REWRITE_PIECE_BYTES, to - at))]);
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

interface SegmentEntry {
  readonly number: number;
  readonly firstIndex: LogIndex;
  /** The lowest index from which a batch in it cuts the log. */
  cutFrom: number;
}

class WriteAheadLog implements LogStore {
  readonly #identity: LogIdentity;
  readonly #seed: number;
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #image: LogImage;
  readonly #spans: LogSpans;
  /** In order; the last one is the active one. */
  #segments: SegmentEntry[];
  readonly #snapshots: SnapshotFiles;
  readonly #features: DirectoryFeatures;
  readonly #preparer: SegmentPreparer;
  readonly #logger: Logger;
  #durable: DurableState;
  readonly #voteBan: Pick<DurableState, 'voteBan'>;
  #active: ActiveSegment;
  #mark: SegmentMark;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Counts truncations, so that a read notices one that came between. */
  #truncations = 0;
  /** The end of the compactions so far; one at a time. */
  #compacting: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    options: WriteAheadLogOptions,
    recovered: RecoveredLog,
    {
      file,
      mark,
      snapshots,
      features,
    }: {
      readonly file: DiskFile;
      readonly mark: SegmentMark;
      readonly snapshots: SnapshotFiles;
      readonly features: DirectoryFeatures;
    },
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
    this.#mark = mark;
    this.#image = image;
    this.#spans = spans;
    this.#segments = segments.map((segment) => ({
      number: segment.number,
      firstIndex: segment.firstIndex,
      cutFrom: segment.cutFrom,
    }));
    this.#snapshots = snapshots;
    this.#features = features;
    this.#logger = logger.child({ component: 'log-store' });
    this.#preparer = new SegmentPreparer(
      { directory, segmentBytes: roundedSegmentBytes(options.segmentBytes) },
      { disk, logger: this.#logger },
    );
    this.#active = {
      number: last.number,
      firstIndex: last.firstIndex,
      file,
      sizeBytes: last.sizeBytes,
      position: last.usedBytes,
      previousEnd: segments.at(-2)?.usedBytes ?? 0,
    };
    const { voteBan } = recovered;
    this.#voteBan = voteBan === undefined ? {} : { voteBan };
    this.#durable = { ...image.durableState(snapshots.newest), ...this.#voteBan };
  }

  get durable(): DurableState {
    return this.#durable;
  }

  get firstIndex(): LogIndex {
    return nextIndex(this.#image.base.index);
  }

  get snapshot(): SnapshotInfo | undefined {
    return this.#snapshots.newest;
  }

  /** Ends what a crash cut short: the replacement of the log by `restartAt`, the removal of what is void. */
  async complete(restartAt: LogPosition | undefined): Promise<void> {
    if (restartAt !== undefined) {
      const { hardState } = this.#image;
      // The leader that sent it had its term. A higher term without a vote promises nothing to anybody.
      const adopted = { term: restartAt.term, votedFor: NO_SERVER };
      const raised = hardState.term < restartAt.term ? { hardState: adopted } : {};
      await this.write({ ...raised, snapshot: restartAt, entries: [] });
      this.#logger.info({ index: restartAt.index }, 'the log goes on behind the snapshot that was being installed');
    }
    const first = this.#segments[0]?.number ?? 1;
    for (const { path, number } of await listSegments(this.#directory, this.#disk)) {
      if (number < first) await this.#removeSegment(path);
    }
    await this.#snapshots.prune(this.firstIndex);
    this.#durable = { ...this.#image.durableState(this.snapshot), ...this.#voteBan };
  }

  createSnapshot(meta: SnapshotMeta): Promise<SnapshotSink> {
    this.#checkOpen();
    return this.#snapshots.create(meta);
  }

  openSnapshot(): Promise<SnapshotSource | undefined> {
    this.#checkOpen();
    return this.#snapshots.openNewest();
  }

  compact(upTo: LogIndex): Promise<void> {
    const compacting = this.#compacting.then(() => this.#compact(upTo));
    this.#compacting = compacting.catch(() => {});
    return compacting;
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
      if (from < this.firstIndex) return [];
      const truncations = this.#truncations;
      const first = this.#segments[0];
      try {
        const entries = await this.#readOnce(from, to, maxBytes);
        if (truncations === this.#truncations) return entries;
      } catch (error) {
        // It may have been about to read what was removed meanwhile.
        if (truncations === this.#truncations && first === this.#segments[0]) throw error;
      }
    }
  }

  async liftVoteBan(): Promise<void> {
    this.#checkOpen();
    await removeVoteBan(this.#directory, this.#disk);
    await this.#features.waive(DiskFeature.voteBan);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writing?.catch(() => {});
    await this.#compacting;
    await this.#markClosed();
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
    const header = this.#nextHeader(content.snapshot);
    if (content.truncateFrom !== undefined) this.#truncate(content.truncateFrom);
    if (content.snapshot !== undefined) this.#restart(content.snapshot);
    try {
      await this.#persist(content, header);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  async #persist(content: WriteBatch, header: HeaderFields): Promise<void> {
    const used = featuresOfEntries(content.entries) + header.features;
    if (!demands(this.#features, used)) await this.#features.demand(used);
    const { position, sizeBytes } = this.#active;
    const restarts = content.snapshot !== undefined;
    if (position > 0 && (restarts || position + batchBytes(content) > sizeBytes)) {
      await this.#switchSegment(header.firstIndex);
    }
    // It has its name from a log that was replaced before anything was written into it.
    if (this.#active.position === 0 && this.#active.firstIndex !== header.firstIndex) {
      await this.#renameActive(header.firstIndex);
    }
    const active = this.#active;
    const batch = active.position > 0 ? content : this.#withHeader(content, header);
    const bytes = encodeBatch(batch, batchSeed(this.#seed, active.number, active.position));
    await active.file.append(active.position, [bytes]);
    const beginsSegment = active.position === 0;
    this.#applied(content, bytes.length);
    if (beginsSegment || this.#image.hardState.term > this.#mark.term) await this.#markEnd();
    this.#preparer.advance(active.position);
    if (restarts) await this.#dropSegmentsBefore(active.number);
  }

  async #markClosed(): Promise<void> {
    if (this.#failure !== undefined || this.#active.position === 0) return;
    try {
      await this.#markEnd();
    } catch (error) {
      this.#logger.warn(
        { err: error },
        'the end of the log cannot be marked: damage to its last batch would go unnoticed',
      );
    }
  }

  /** Everything up to here is durable. */
  async #markEnd(): Promise<void> {
    const { number, position } = this.#active;
    const before = this.#mark;
    const mark = { segment: number, position, term: maxTerm(this.#image.hardState.term, before.term) };
    if (mark.segment === before.segment && mark.position === before.position && mark.term === before.term) return;
    await writeSegmentMark(this.#directory, this.#identity.incarnation, mark, this.#disk);
    this.#mark = mark;
  }

  #applied({ hardState, truncateFrom, entries }: WriteBatch, bytes: number): void {
    const active = this.#active;
    const place = { segment: active.number, position: active.position, end: active.position + bytes };
    active.position = place.end;
    if (hardState !== undefined) this.#image.setHardState(hardState);
    const segment = this.#segments.at(-1);
    if (segment !== undefined) segment.cutFrom = Math.min(segment.cutFrom, truncateFrom ?? Infinity);
    this.#image.append(entries);
    const first = entries[0];
    if (first !== undefined) this.#spans.append(first.index, this.#image.lastIndex, place);
  }

  /** The log before is unreadable from here on. */
  #restart(position: LogPosition): void {
    this.#image.beginAt(position);
    this.#spans.clear();
    this.#truncations += 1;
  }

  #truncate(index: LogIndex): void {
    this.#image.truncateFrom(index);
    this.#spans.truncateFrom(index);
    this.#truncations += 1;
  }

  /** Describes the log as it is on disk, before the batch that the header may come to stand in. */
  #nextHeader(snapshot: LogPosition | undefined): HeaderFields {
    if (snapshot !== undefined) {
      return { features: DiskFeature.restart, firstIndex: nextIndex(snapshot.index), previousTerm: snapshot.term };
    }
    const { lastIndex, lastTerm } = this.#image;
    return { features: NO_FEATURES, firstIndex: nextIndex(lastIndex), previousTerm: lastTerm };
  }

  #withHeader(content: WriteBatch, fields: HeaderFields): LoggedBatch {
    const { number, previousEnd } = this.#active;
    // Once there are such entries, any segment may have some.
    const lasting = commonFeatures(this.#features.required, DiskFeature.configuration);
    return {
      ...content,
      header: { ...this.#identity, ...fields, features: fields.features + lasting, number, previousEnd },
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
    this.#segments.push({ number: number + 1, firstIndex, cutFrom: Infinity });
    await file.close();
  }

  async #renameActive(firstIndex: LogIndex): Promise<void> {
    const { number, file } = this.#active;
    const path = join(this.#directory, segmentFileName({ number, firstIndex }));
    await file.close();
    await this.#disk.rename(this.#segmentPath(number), path);
    await this.#disk.syncDirectory(this.#directory);
    this.#segments = [...this.#segments.slice(0, -1), { number, firstIndex, cutFrom: Infinity }];
    this.#active = { ...this.#active, firstIndex, file: await this.#disk.open(path, 'existing') };
  }

  /**
   * Whole segments only. The first one that stays must show by its header how the log begins: no later batch may cut the log before
   * it, and it must have one.
   */
  async #compact(upTo: LogIndex): Promise<void> {
    this.#checkOpen();
    const snapshotIndex = this.snapshot?.index ?? 0;
    invariant(upTo <= snapshotIndex, 'only-what-a-snapshot-holds-is-forgotten', () => `${upTo} of ${snapshotIndex}`);
    let first: SegmentEntry | undefined;
    let cutFrom = Infinity;
    for (const segment of this.#segments.toReversed()) {
      cutFrom = Math.min(cutFrom, segment.cutFrom);
      const written = segment.number !== this.#active.number || this.#active.position > 0;
      if (!written || segment.firstIndex - 1 > upTo || cutFrom < segment.firstIndex) continue;
      first = segment;
      break;
    }
    if (first !== undefined) await this.#dropSegmentsBefore(first.number);
    await this.#snapshots.prune(this.firstIndex);
  }

  async #dropSegmentsBefore(number: number): Promise<void> {
    if ((this.#segments[0]?.number ?? number) >= number) return;
    await this.#features.demand(DiskFeature.compacted);
    const kept = this.#segments.filter((segment) => segment.number >= number);
    const dropped = this.#segments.filter((segment) => segment.number < number);
    const first = kept[0];
    if (first === undefined || dropped.length === 0) return;
    const paths = dropped.map((segment) => this.#segmentPath(segment.number));
    const index = previousIndex(first.firstIndex);
    const term = this.#image.termAt(index);
    if (term !== undefined) this.#image.compactTo({ index, term });
    this.#spans.dropSegmentsBefore(number);
    this.#segments = kept;
    // The oldest first, and each for good, so that a crash leaves no gap.
    for (const path of paths) await this.#removeSegment(path);
  }

  async #removeSegment(path: string): Promise<void> {
    await this.#disk.remove(path);
    await this.#disk.syncDirectory(this.#directory);
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
    const firstIndex = this.#segments[number - (this.#segments[0]?.number ?? 1)]?.firstIndex;
    invariant(firstIndex !== undefined, 'a-span-is-in-a-known-segment');
    return join(this.#directory, segmentFileName({ number, firstIndex }));
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error(`the log in ${this.#directory} is closed`);
  }
}

type HeaderFields = Pick<SegmentHeader, 'features' | 'firstIndex' | 'previousTerm'>;

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

function isEmpty({ hardState, snapshot, truncateFrom, entries }: WriteBatch): boolean {
  return hardState === undefined && snapshot === undefined && truncateFrom === undefined && entries.length === 0;
}
