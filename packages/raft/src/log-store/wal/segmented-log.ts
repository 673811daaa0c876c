/**
 * An open write-ahead log. One batch is one durable disk operation, all or nothing over a crash (docs/formats.md); a failed write is
 * final. Keeps the log's image, spans, segments, mark and features in step with what is on disk.
 */

import { commonFeatures, NO_FEATURES } from '@holdfast/protocol';
import type { Disk, Logger } from '@holdfast/runtime';
import {
  invariant,
  maxTerm,
  nextIndex,
  NO_SERVER,
  previousIndex,
  type DurableState,
  type Entry,
  type LogIndex,
  type LogPosition,
} from '../../core/index.ts';
import { demands, DiskFeature, featuresOfEntries, type DirectoryFeatures } from '../files/disk-features.ts';
import { EntryReader } from './entry-reader.ts';
import {
  batchBytes,
  batchSeed,
  encodeBatch,
  logSeed,
  MAX_ENTRY_BYTES,
  type LogIdentity,
  type LoggedBatch,
  type SegmentHeader,
} from '../format/frame.ts';
import type { LogImage } from '../contract/log-image.ts';
import type { LogSegments } from './log-segments.ts';
import type { LogSpans } from '../segments/log-spans.ts';
import type { LogStore, WriteBatch } from '../contract/log-store.ts';
import type { RecoveredLog } from '../recovery/recovered-log.ts';
import type { LogPlace } from '../recovery/repair.ts';
import { writeTailMarker, type TailMarker } from '../segments/durable-tail-marker.ts';
import type { SnapshotChoice } from '../recovery/snapshot-choice.ts';
import type { SnapshotFiles } from '../snapshots/snapshot-files.ts';
import type { SnapshotInfo, SnapshotMeta, SnapshotSink, SnapshotSource } from '../contract/snapshot.ts';
import { removeVoteBan } from '../recovery/vote-ban.ts';

export interface SegmentedLogParts {
  readonly segments: LogSegments;
  /** What is marked on disk. */
  readonly mark: TailMarker;
  readonly snapshots: SnapshotFiles;
  readonly features: DirectoryFeatures;
}

export class SegmentedLog implements LogStore {
  readonly #identity: LogIdentity;
  readonly #seed: number;
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #image: LogImage;
  readonly #spans: LogSpans;
  readonly #segments: LogSegments;
  readonly #reader: EntryReader;
  readonly #snapshots: SnapshotFiles;
  readonly #features: DirectoryFeatures;
  readonly #logger: Logger;
  #durable: DurableState;
  readonly #voteBan: Pick<DurableState, 'voteBan'>;
  #mark: TailMarker;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** The end of the compactions so far; one at a time. */
  #compacting: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    { directory, clusterId, serverId, incarnation }: LogPlace,
    { image, spans, voteBan }: RecoveredLog,
    { segments, mark, snapshots, features }: SegmentedLogParts,
    { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
  ) {
    this.#identity = { clusterId, serverId, incarnation };
    this.#seed = logSeed(incarnation);
    this.#directory = directory;
    this.#disk = disk;
    this.#image = image;
    this.#spans = spans;
    this.#segments = segments;
    this.#mark = mark;
    this.#snapshots = snapshots;
    this.#features = features;
    this.#logger = logger;
    this.#reader = new EntryReader({ incarnation, image, spans, segments, checkOpen: () => this.#checkOpen() }, disk);
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
  async complete({ chosen, restartsLog, check }: SnapshotChoice): Promise<void> {
    const restartAt = restartsLog ? chosen?.info : undefined;
    // Before anything else: a restart removes what this log still has, and the oldest segments must be the first to go.
    await this.#segments.letGoVoid();
    if (restartAt !== undefined) {
      const { hardState } = this.#image;
      // The leader that sent it had its term. A higher term without a vote promises nothing to anybody.
      const adopted = { term: restartAt.term, votedFor: NO_SERVER };
      const raised = hardState.term < restartAt.term ? { hardState: adopted } : {};
      await this.write({ ...raised, snapshot: restartAt, entries: [] });
      this.#logger.info({ index: restartAt.index }, 'the log goes on behind the snapshot that was being installed');
    }
    // An older one may be what is left when the newest turns out to be damaged.
    if (check === 'whole') await this.#snapshots.prune(this.firstIndex);
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

  write(batch: WriteBatch, worked?: () => void): Promise<void> {
    const writing = this.#write(batch, worked).finally(() => {
      if (this.#writing !== writing) return;
      this.#writing = undefined;
      this.#segments.watchFilling(undefined);
    });
    if (this.#writing === undefined) {
      this.#writing = writing;
      this.#segments.watchFilling(worked);
    }
    return writing;
  }

  async read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    invariant(from >= 1, 'the-log-begins-at-1', () => `read from ${from}`);
    return this.#reader.read(from, to, maxBytes);
  }

  allowSpare(allowed: boolean): void {
    if (!this.#closed) this.#segments.allowSpare(allowed);
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
    await this.#reader.close();
    await this.#segments.close();
  }

  /** Runs up to its first disk operation at once, so that what it truncates is unreadable from the call on. */
  async #write(batch: WriteBatch, worked: (() => void) | undefined): Promise<void> {
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
      await this.#persist(content, header, worked);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  async #persist(content: WriteBatch, header: HeaderFields, worked: (() => void) | undefined): Promise<void> {
    const used = featuresOfEntries(content.entries) + header.features;
    if (!demands(this.#features, used)) await this.#features.demand(used);
    const segments = this.#segments;
    const { position, sizeBytes } = segments.active;
    const restarts = content.snapshot !== undefined;
    if (position > 0 && (restarts || position + batchBytes(content) > sizeBytes)) {
      await segments.switchTo(header.firstIndex);
      worked?.();
    }
    // It has its name from a log that was replaced before anything was written into it.
    if (segments.active.position === 0 && segments.active.firstIndex !== header.firstIndex) {
      await segments.renameActive(header.firstIndex);
    }
    const { active } = segments;
    const beginsSegment = active.position === 0;
    const batch = beginsSegment ? this.#withHeader(content, header) : content;
    const bytes = encodeBatch(batch, batchSeed(this.#seed, active.number, active.position));
    await active.file.append(active.position, [bytes]);
    this.#applied(content, bytes.length);
    if (beginsSegment || this.#image.hardState.term > this.#mark.term) {
      worked?.();
      await this.#markEnd();
    }
    segments.prepareNext();
    if (restarts) await this.#dropSegmentsBefore(active.number);
  }

  async #markClosed(): Promise<void> {
    if (this.#failure !== undefined || this.#segments.active.position === 0) return;
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
    const { number, position } = this.#segments.active;
    const before = this.#mark;
    const mark = { segment: number, position, term: maxTerm(this.#image.hardState.term, before.term) };
    if (mark.segment === before.segment && mark.position === before.position && mark.term === before.term) return;
    await writeTailMarker(this.#directory, this.#identity.incarnation, mark, this.#disk);
    this.#mark = mark;
  }

  #applied({ hardState, truncateFrom, entries }: WriteBatch, bytes: number): void {
    const place = this.#segments.wrote(bytes, truncateFrom);
    if (hardState !== undefined) this.#image.setHardState(hardState);
    this.#image.append(entries);
    const first = entries[0];
    if (first !== undefined) this.#spans.append(first.index, this.#image.lastIndex, place);
  }

  /** The log before is unreadable from here on. */
  #restart(position: LogPosition): void {
    this.#image.beginAt(position);
    this.#spans.clear();
  }

  #truncate(index: LogIndex): void {
    this.#image.truncateFrom(index);
    this.#spans.truncateFrom(index);
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
    const { number, previousEnd } = this.#segments.active;
    // Once there are such entries, any segment may have some.
    const lasting = commonFeatures(this.#features.required, DiskFeature.configuration);
    return {
      ...content,
      header: { ...this.#identity, ...fields, features: fields.features + lasting, number, previousEnd },
      hardState: content.hardState ?? this.#image.hardState,
    };
  }

  /** Whole segments only. */
  async #compact(upTo: LogIndex): Promise<void> {
    this.#checkOpen();
    const snapshotIndex = this.snapshot?.index ?? 0;
    invariant(upTo <= snapshotIndex, 'only-what-a-snapshot-holds-is-forgotten', () => `${upTo} of ${snapshotIndex}`);
    const first = this.#segments.firstNeeded(upTo);
    if (first !== undefined) await this.#dropSegmentsBefore(first);
    await this.#snapshots.prune(this.firstIndex);
  }

  async #dropSegmentsBefore(number: number): Promise<void> {
    if (this.#segments.first.number >= number) return;
    await this.#features.demand(DiskFeature.compacted);
    const forgotten = this.#segments.forgetBefore(number);
    if (forgotten.length === 0) return;
    const index = previousIndex(this.#segments.first.firstIndex);
    const term = this.#image.termAt(index);
    if (term !== undefined) this.#image.compactTo({ index, term });
    this.#spans.dropSegmentsBefore(number);
    await this.#reader.dropSegmentsBefore(number);
    for (const { number: gone, path } of forgotten) {
      await this.#segments.letGo(path, { read: this.#reader.reads(gone) });
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error(`the log in ${this.#directory} is closed`);
  }
}

type HeaderFields = Pick<SegmentHeader, 'features' | 'firstIndex' | 'previousTerm'>;

function withoutVoidTruncation(batch: WriteBatch, lastIndex: LogIndex): WriteBatch {
  const { truncateFrom, ...rest } = batch;
  return truncateFrom === undefined || truncateFrom > lastIndex ? rest : batch;
}

function isEmpty({ hardState, snapshot, truncateFrom, entries }: WriteBatch): boolean {
  return hardState === undefined && snapshot === undefined && truncateFrom === undefined && entries.length === 0;
}
