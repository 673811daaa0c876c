/**
 * Reads a log's directory and says what it holds. Changes nothing. Tells apart a write that was never acknowledged (an invalid batch
 * with nothing valid after it: a torn tail, to be cut) from acknowledged log that is lost ({@link DamagedLogError}).
 *
 * A segment is named only after every write into the one before it was acknowledged, so only the last may end in a torn tail.
 */

import { join } from 'node:path';
import { MalformedError, missingFeatures, NO_FEATURES, type FeatureSet } from '@holdfast/protocol';
import type { Disk, DiskFile } from '@holdfast/runtime';
import { nextIndex, previousIndex, type LogIndex, type Term } from '../core/index.ts';
import { BatchReader } from './batch-reader.ts';
import { DamagedLogError } from './damaged-log-error.ts';
import { DataDirectoryError } from './data-directory-error.ts';
import { DiskFeature, featuresOfEntries } from './disk-features.ts';
import {
  decodeSegmentHeader,
  FRAME_ALIGNMENT,
  FRAME_HEADER_BYTES,
  FrameType,
  parseFrameHeader,
  restartsLog,
  type LogIdentity,
  type LoggedBatch,
  type SegmentHeader,
} from './frame.ts';
import { IdentityMismatchError } from './identity-mismatch-error.ts';
import { LogImage } from './log-image.ts';
import { LogSpans } from './log-spans.ts';
import { readSegmentMark, type SegmentMark } from './segment-mark.ts';
import { parseSegmentFileName, SEGMENT_SUFFIX } from './segment-name.ts';
import { readVoteBan } from './vote-ban.ts';

/** Sizes of segments are multiples of it. */
export const MIN_SEGMENT_BYTES = 4 * 1024;
const PIECE_BYTES = 1024 * 1024;
const HEADER_PIECE_BYTES = 4 * 1024;

export interface SegmentSummary {
  readonly file: string;
  readonly number: number;
  readonly firstIndex: LogIndex;
  readonly sizeBytes: number;
  /** Where its records end; 0 when nothing was ever written. */
  usedBytes: number;
  /** The lowest index from which a batch in it cuts the log; Infinity when none does. */
  cutFrom: number;
}

export interface ByteRange {
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

export interface RecoveredLog {
  readonly image: LogImage;
  readonly spans: LogSpans;
  /** Those that the log is made of; earlier ones are void. */
  readonly segments: readonly SegmentSummary[];
  /** Undefined while the last segment is empty. */
  readonly lastBatch: ByteRange | undefined;
  /** Bytes of a write that was never acknowledged. */
  readonly tornTail: ByteRange | undefined;
  /** How far the log once had got; undefined when nothing says so. */
  readonly mark: SegmentMark | undefined;
  /** Undefined without a ban. */
  readonly voteBan: Term | undefined;
  /** What its bytes demand of who reads them. */
  readonly features: FeatureSet;
}

interface SegmentFile {
  readonly path: string;
  readonly number: number;
  readonly firstIndex: LogIndex;
}

/** In order, without a gap; the first ones may have been compacted away. Empty for a directory without segments. */
export async function listSegments(directory: string, disk: Disk): Promise<SegmentFile[]> {
  const { files, gap } = await segmentsToGap(directory, disk);
  if (gap !== undefined) throw gap;
  return files;
}

/** Those before the first that is missing in the middle. */
async function segmentsToGap(
  directory: string,
  disk: Disk,
): Promise<{ readonly files: SegmentFile[]; readonly gap: DamagedLogError | undefined }> {
  const files: SegmentFile[] = [];
  for (const name of await disk.list(directory)) {
    if (!name.endsWith(SEGMENT_SUFFIX)) continue;
    const parsed = parseSegmentFileName(name);
    const path = join(directory, name);
    if (parsed === undefined) {
      throw new DamagedLogError(path, 0, 'its name is not one that a log segment can have', { foreign: true });
    }
    files.push({ path, ...parsed });
  }
  const first = files[0]?.number ?? 1;
  for (const [at, { path, number }] of files.entries()) {
    if (number === first + at) continue;
    const gap = new DamagedLogError(path, 0, `segment ${first + at}, which comes before it, is missing`);
    return { files: files.slice(0, at), gap };
  }
  return { files, gap: undefined };
}

export class LogRecovery implements RecoveredLog {
  readonly image = new LogImage();
  readonly spans = new LogSpans();
  readonly segments: SegmentSummary[] = [];
  lastBatch: ByteRange | undefined;
  tornTail: ByteRange | undefined;
  mark: SegmentMark | undefined;
  voteBan: Term | undefined;
  features: FeatureSet = NO_FEATURES;
  readonly #directory: string;
  readonly #identity: LogIdentity;
  readonly #disk: Disk;

  constructor(directory: string, identity: LogIdentity, disk: Disk) {
    this.#directory = directory;
    this.#identity = identity;
    this.#disk = disk;
  }

  /**
   * Once. After a rejection the fields have what was understood up to there.
   * @throws DamagedLogError, DataDirectoryError, IdentityMismatchError, DiskError
   */
  async run(): Promise<void> {
    const { files, gap } = await segmentsToGap(this.#directory, this.#disk);
    this.mark = await readSegmentMark(this.#directory, this.#identity.incarnation, this.#disk);
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
    if (this.voteBan !== undefined) this.#demand(DiskFeature.voteBan);
    if (this.image.base.index > 0) this.#demand(DiskFeature.compacted);
    this.#checkMark(files.at(-1)?.number ?? 0);
  }

  #demand(features: FeatureSet): void {
    this.features += missingFeatures(features, this.features);
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
        this.#replay(read.batch, summary, { position, end: read.end }, previous);
        this.lastBatch = { file: summary.file, from: position, to: read.end };
        position = read.end;
        summary.usedBytes = position;
        continue;
      }
      if (position === 0 && read.kind === 'invalid') await this.#refuseForeignSegment(reader, summary, file);
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
      const { usedTo } = await this.#scan(file, before, before.usedBytes);
      if (usedTo === before.usedBytes) return;
      throw new DamagedLogError(
        before.file,
        before.usedBytes,
        'zeros before other bytes, and there is a later segment',
      );
    });
  }

  #replay(
    batch: LoggedBatch,
    summary: SegmentSummary,
    place: { readonly position: number; readonly end: number },
    previous: SegmentSummary | undefined,
  ): void {
    const { file, number } = summary;
    const damaged = (reason: string) => new DamagedLogError(file, place.position, reason);
    if ((batch.header !== undefined) !== (place.position === 0)) {
      throw damaged(
        batch.header === undefined ? 'it does not begin with a segment header' : 'a segment header in its middle',
      );
    }
    if (batch.header !== undefined) this.#checkHeader(batch.header, summary, previous, damaged);
    const contradiction = this.image.contradiction(batch);
    if (contradiction !== undefined) throw damaged(contradiction);
    const { hardState, truncateFrom, entries } = batch;
    if (hardState !== undefined) this.image.setHardState(hardState);
    if (truncateFrom !== undefined) {
      summary.cutFrom = Math.min(summary.cutFrom, truncateFrom);
      this.image.truncateFrom(truncateFrom);
      this.spans.truncateFrom(truncateFrom);
    }
    this.#demand(featuresOfEntries(entries));
    this.image.append(entries);
    const first = entries[0];
    if (first !== undefined) this.spans.append(first.index, this.image.lastIndex, { segment: number, ...place });
  }

  #checkHeader(
    header: SegmentHeader,
    { file, number, firstIndex }: SegmentSummary,
    previous: SegmentSummary | undefined,
    damaged: (reason: string) => DamagedLogError,
  ): void {
    if (!this.#owns(header)) throw new IdentityMismatchError(file, header, this.#identity);
    if (header.number !== number || header.firstIndex !== firstIndex) {
      throw damaged(`its header is that of segment ${header.number} with first index ${header.firstIndex}`);
    }
    if (previous !== undefined && header.previousEnd !== previous.usedBytes) {
      throw new DamagedLogError(
        previous.file,
        previous.usedBytes,
        `its records end here, but once went on to byte ${header.previousEnd}`,
      );
    }
    // The segments before it were compacted away, or are void.
    if (previous === undefined) {
      this.image.beginAt({ index: previousIndex(header.firstIndex), term: header.previousTerm });
    }
    this.#demand(header.features);
    const { lastIndex, lastTerm } = this.image;
    if (header.firstIndex !== nextIndex(lastIndex) || header.previousTerm !== lastTerm) {
      throw damaged(
        `it goes on from index ${header.firstIndex - 1} of term ${header.previousTerm}, but the log before it ends at index ${lastIndex} of term ${lastTerm}`,
      );
    }
  }

  #owns({ clusterId, serverId, incarnation }: LogIdentity): boolean {
    const own = this.#identity;
    return clusterId === own.clusterId && serverId === own.serverId && incarnation === own.incarnation;
  }

  /** A segment copied from another server has wrong checksums here; its header says what it is. */
  async #refuseForeignSegment(reader: BatchReader, summary: SegmentSummary, opened: DiskFile): Promise<void> {
    const { file, number: segment, sizeBytes } = summary;
    const frame = parseFrameHeader(await reader.view(0, FRAME_HEADER_BYTES));
    if (frame?.type !== FrameType.segment) return;
    let header: SegmentHeader;
    try {
      header = decodeSegmentHeader(await reader.view(FRAME_HEADER_BYTES, frame.payloadBytes));
    } catch (error) {
      if (error instanceof MalformedError) return;
      throw error;
    }
    // What it says counts only if its checksum is right for whom it names.
    const { incarnation: claimed } = header;
    const named = new BatchReader(opened, { incarnation: claimed, segment, sizeBytes, pieceBytes: PIECE_BYTES });
    if ((await named.readAt(0)).kind !== 'batch') return;
    const { clusterId, serverId, incarnation } = this.#identity;
    if (header.clusterId !== clusterId || header.serverId !== serverId) {
      throw new IdentityMismatchError(file, header, this.#identity);
    }
    if (header.incarnation !== incarnation) {
      throw new DamagedLogError(
        file,
        0,
        `it belongs to incarnation ${header.incarnation}, the directory to ${incarnation}`,
        { foreign: true },
      );
    }
  }

  /** Behind the last valid batch of the last segment: nothing, or a torn tail, or a sign that something before it was lost. */
  async #endLog(file: DiskFile, summary: SegmentSummary, position: number, reason: string): Promise<void> {
    const rest = await this.#scan(file, summary, position);
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

  async #scan(
    file: DiskFile,
    summary: SegmentSummary,
    from: number,
  ): Promise<{ readonly usedTo: number; readonly validAt: number | undefined }> {
    const reader = this.#reader(file, summary);
    const candidates = this.#reader(file, summary);
    let usedTo = from;
    for (let at = from; at < summary.sizeBytes; at += PIECE_BYTES) {
      const piece = await reader.view(at, PIECE_BYTES);
      const used = usedLength(piece);
      if (used === 0) continue;
      usedTo = at + used;
      for (let offset = 0; offset + FRAME_HEADER_BYTES <= used + FRAME_ALIGNMENT; offset += FRAME_ALIGNMENT) {
        if (offset + FRAME_HEADER_BYTES > piece.length) break;
        if (parseFrameHeader(piece.subarray(offset, offset + FRAME_HEADER_BYTES)) === undefined) continue;
        const validAt = at + offset;
        const read = validAt > from ? await candidates.readAt(validAt) : undefined;
        if (read !== undefined && read.kind !== 'end' && read.kind !== 'invalid') return { usedTo, validAt };
      }
    }
    return { usedTo, validAt: undefined };
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

const ZEROS = new Uint8Array(4 * 1024);

/** Without the zeros at its end: most of a segment, so they are compared in blocks first. */
function usedLength(bytes: Uint8Array): number {
  let length = bytes.length;
  while (length >= ZEROS.length && Buffer.compare(bytes.subarray(length - ZEROS.length, length), ZEROS) === 0) {
    length -= ZEROS.length;
  }
  while (length > 0 && bytes[length - 1] === 0) length -= 1;
  return length;
}
