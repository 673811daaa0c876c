/**
 * Reads a log's directory and says what it holds. Changes nothing. Tells apart a write that was never acknowledged (an invalid batch
 * with nothing valid after it: a torn tail, to be cut) from acknowledged log that is lost ({@link DamagedLogError}).
 *
 * A segment is named only after every write into the one before it was acknowledged, so only the last may end in a torn tail.
 */

import type { FeatureSet } from '@holdfast/protocol';
import type { Disk, DiskFile } from '@holdfast/runtime';
import type { Term } from '../../core/index.ts';
import { BatchReader } from '../format/batch-reader.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { DataDirectoryError } from '../errors/data-directory-error.ts';
import { DiskFeature } from '../files/disk-features.ts';
import { refuseForeignSegment } from '../segments/foreign-segment.ts';
import { restartsLog, type LogIdentity } from '../format/frame.ts';
import type { LogImage } from '../contract/log-image.ts';
import { LogReplay } from './log-replay.ts';
import type { LogSpans } from '../segments/log-spans.ts';
import type { ByteRange, RecoveredLog, SegmentSummary } from './recovered-log.ts';
import { segmentsToGap, type SegmentFile } from '../segments/segment-list.ts';
import { readTailMarker, type TailMarker } from '../segments/durable-tail-marker.ts';
import { scanTail, type SegmentTail } from '../segments/segment-tail.ts';
import { readVoteBan } from './vote-ban.ts';

/** Sizes of segments are multiples of it. */
export const MIN_SEGMENT_BYTES = 4 * 1024;
const PIECE_BYTES = 1024 * 1024;
const HEADER_PIECE_BYTES = 4 * 1024;

export class LogRecovery implements RecoveredLog {
  readonly segments: SegmentSummary[] = [];
  lastBatch: ByteRange | undefined;
  tornTail: ByteRange | undefined;
  mark: TailMarker | undefined;
  voteBan: Term | undefined;
  readonly #directory: string;
  readonly #identity: LogIdentity;
  readonly #disk: Disk;
  readonly #replay: LogReplay;

  constructor(directory: string, identity: LogIdentity, disk: Disk) {
    this.#directory = directory;
    this.#identity = identity;
    this.#disk = disk;
    this.#replay = new LogReplay(identity);
  }

  get image(): LogImage {
    return this.#replay.image;
  }

  get spans(): LogSpans {
    return this.#replay.spans;
  }

  get features(): FeatureSet {
    return this.#replay.features;
  }

  /**
   * Once. After a rejection the fields have what was understood up to there.
   * @throws DamagedLogError, DataDirectoryError, IdentityMismatchError, DiskError
   */
  async run(): Promise<void> {
    const { files, gap } = await segmentsToGap(this.#directory, this.#disk);
    this.mark = await readTailMarker(this.#directory, this.#identity.incarnation, this.#disk);
    this.voteBan = await readVoteBan(this.#directory, this.#identity.incarnation, this.#disk);
    const restart = await this.#findRestart(files);
    for (const [at, { path, number, firstIndex }] of files.entries()) {
      if (at < restart) continue;
      await this.#withFile(path, async (file) => {
        const summary = {
          file: path,
          number,
          firstIndex,
          sizeBytes: await file.size(),
          usedBytes: 0,
          cutFrom: Infinity,
        };
        if (summary.sizeBytes < MIN_SEGMENT_BYTES) {
          // Segments get their name only when they are whole.
          throw new DamagedLogError(path, 0, `it has been cut to ${summary.sizeBytes} bytes`);
        }
        await this.#replaySegment(file, summary, gap === undefined && at === files.length - 1);
      });
    }
    if (gap !== undefined) throw gap;
    await this.#checkBeforeEmptySegment();
    if (this.voteBan !== undefined) this.#replay.demand(DiskFeature.voteBan);
    if (this.image.base.index > 0) this.#replay.demand(DiskFeature.compacted);
    this.#checkMark(files.at(-1)?.number ?? 0);
  }

  #checkMark(lastSegment: number): void {
    const { mark } = this;
    if (mark === undefined) return;
    if (lastSegment < mark.segment) {
      const reason = `segment ${lastSegment + 1} is missing, and the log had got to segment ${mark.segment}`;
      throw new DamagedLogError(this.#directory, 0, reason);
    }
    // A repair has cut the term off with the rest, and the ban begins above it.
    const { term } = this.image.hardState;
    if (term >= mark.term || this.voteBan !== undefined) return;
    throw new DamagedLogError(this.#directory, 0, `it ends in term ${term}, and this server was in term ${mark.term}`);
  }

  /**
   * Where the log last began anew behind a snapshot; 0 when it never did. What comes before is void, and some of it may be removed
   * already.
   */
  async #findRestart(files: readonly SegmentFile[]): Promise<number> {
    for (let at = files.length - 1; at > 0; at -= 1) {
      const segment = files[at];
      if (segment === undefined) continue;
      let restarts = false;
      await this.#withFile(segment.path, async (file) => {
        const sizeBytes = await file.size();
        const { incarnation } = this.#identity;
        const options = { incarnation, segment: segment.number, sizeBytes, pieceBytes: HEADER_PIECE_BYTES };
        const first = await new BatchReader(file, options).readAt(0);
        restarts = first.kind === 'batch' && first.batch.header !== undefined && restartsLog(first.batch.header);
      });
      if (restarts) return at;
    }
    return 0;
  }

  async #replaySegment(file: DiskFile, summary: SegmentSummary, isLast: boolean): Promise<void> {
    const previous = this.segments.at(-1);
    this.segments.push(summary);
    this.lastBatch = undefined;
    const reader = this.#reader(file, summary);
    let position = 0;
    for (;;) {
      const read = await reader.readAt(position);
      if (read.kind === 'batch') {
        this.#replay.replay(read.batch, summary, { position, end: read.end }, previous);
        this.lastBatch = { file: summary.file, from: position, to: read.end };
        position = read.end;
        summary.usedBytes = position;
        continue;
      }
      if (position === 0 && read.kind === 'invalid') {
        const { number: segment, sizeBytes } = summary;
        await refuseForeignSegment(file, { segment, sizeBytes }, this.#identity);
      }
      if (read.kind === 'unsupported') throw unsupportedSegment(summary.file, read.reason);
      if (read.kind === 'malformed') throw new DamagedLogError(summary.file, position, read.reason);
      if (!isLast) {
        if (read.kind === 'end' && position > 0) return;
        const reason = read.kind === 'end' ? 'it is empty' : read.reason;
        throw new DamagedLogError(summary.file, position, `${reason}, and there are later segments`);
      }
      await this.#endLog(file, summary, position, read.kind === 'end' ? 'zeros' : read.reason);
      return;
    }
  }

  /** What the header of the last segment would tell about the one before, had it been written. */
  async #checkBeforeEmptySegment(): Promise<void> {
    const before = this.segments.at(-2);
    if (before === undefined || this.segments.at(-1)?.usedBytes !== 0) return;
    await this.#withFile(before.file, async (file) => {
      const { usedTo } = await this.#tailOf(file, before, before.usedBytes);
      if (usedTo === before.usedBytes) return;
      throw new DamagedLogError(
        before.file,
        before.usedBytes,
        'zeros before other bytes, and there is a later segment',
      );
    });
  }

  /** Behind the last valid batch of the last segment: nothing, or a torn tail, or a sign that something before it was lost. */
  async #endLog(file: DiskFile, summary: SegmentSummary, position: number, reason: string): Promise<void> {
    const rest = await this.#tailOf(file, summary, position);
    if (rest.validAt !== undefined) {
      throw new DamagedLogError(summary.file, position, `${reason}, before a valid batch at byte ${rest.validAt}`);
    }
    const { segment = 0, position: marked = 0 } = this.mark ?? {};
    if (position === 0 && segment >= summary.number) {
      throw new DamagedLogError(summary.file, 0, `${reason} where it began with a batch that was acknowledged`);
    }
    if (segment === summary.number && position < marked) {
      const was = `batches that were acknowledged went on to byte ${marked}`;
      throw new DamagedLogError(summary.file, position, `${reason}, where ${was}`);
    }
    if (rest.usedTo > position) this.tornTail = { file: summary.file, from: position, to: rest.usedTo };
  }

  #tailOf(file: DiskFile, { number, sizeBytes }: SegmentSummary, from: number): Promise<SegmentTail> {
    const { incarnation } = this.#identity;
    return scanTail(file, { incarnation, segment: number, sizeBytes, from });
  }

  async #withFile(path: string, use: (file: DiskFile) => Promise<void>): Promise<void> {
    const file = await this.#disk.open(path, 'existing');
    try {
      await use(file);
    } finally {
      await file.close();
    }
  }

  #reader(file: DiskFile, { number, sizeBytes }: SegmentSummary): BatchReader {
    const { incarnation } = this.#identity;
    return new BatchReader(file, { incarnation, segment: number, sizeBytes, pieceBytes: PIECE_BYTES });
  }
}

function unsupportedSegment(file: string, reason: string): DataDirectoryError {
  const problem = `${file}: ${reason}: start the version of the program that wrote it`;
  return new DataDirectoryError('UNSUPPORTED_FORMAT', file, problem);
}
