/**
 * Makes the next segment ahead of need: a file of zeros, so that a later write into it changes no metadata of the file system. It
 * fills in pieces and only as far as the log's own progress asks, so that the log's writes never queue behind a burst of zeros. Where
 * there is a spare segment it fills that one: the file system has its blocks already.
 *
 * A full disk is the one failure that it survives: what it has begun holds nothing, so it removes that and begins again later.
 */

import { join } from 'node:path';
import { DiskError, type Disk, type DiskFile, type Logger } from '@holdfast/runtime';
import { removeIfThere } from '../files/durable-file.ts';
import { PREPARED_SEGMENT_NAME, segmentFileName, type SegmentName } from './segment-name.ts';
import type { SpareSegment } from './spare-segment.ts';

const ZEROS = new Uint8Array(1024 * 1024);
/** The next segment is complete when this share of the present one is used. */
const READY_AT_SHARE = 0.5;
/** The first segment: a server that starts for the first time waits until it is filled. */
const FIRST_SEGMENT_BYTES = 4 * 1024 * 1024;
/** Each segment is at most so many times as large as the one before. */
const GROWTH = 2;
/** After a full disk it begins again when the log has used this much more. */
const RETRY_AFTER_BYTES = 256 * 1024;

export class SegmentPreparer {
  readonly #directory: string;
  readonly #segmentBytes: number;
  readonly #disk: Disk;
  readonly #logger: Logger;
  readonly #spare: SpareSegment | undefined;
  /** Called when a piece is durable: a disk that fills works, however long a write has to wait for it. */
  filled: (() => void) | undefined;
  #file: DiskFile | undefined;
  /** Of the one that is being prepared. */
  #nextBytes = 0;
  #filledBytes = 0;
  #targetBytes = 0;
  #filling: Promise<void> | undefined;
  /** Until the log has used this much of its segment nothing is tried: the disk was full. */
  #pausedUntilBytes = 0;
  #closed = false;

  /** Without `spare` every segment is made anew. */
  constructor(
    options: { readonly directory: string; readonly segmentBytes: number },
    { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
    spare?: SpareSegment,
  ) {
    this.#directory = options.directory;
    this.#segmentBytes = options.segmentBytes;
    this.#disk = disk;
    this.#logger = logger;
    this.#spare = spare;
  }

  /** Goes on in the background, as far as a log that has used `usedBytes` of its segment of `activeBytes` needs it. */
  advance(usedBytes: number, activeBytes: number): void {
    if (this.#nextBytes === 0) this.#nextBytes = this.#bytesAfter(activeBytes);
    const larger = Math.max(1, this.#nextBytes / activeBytes);
    this.#targetBytes = Math.min(this.#nextBytes, Math.ceil((usedBytes / READY_AT_SHARE) * larger));
    if (this.#filling !== undefined || this.#filledBytes >= this.#targetBytes || this.#closed) return;
    if (usedBytes < this.#pausedUntilBytes) return;
    this.#fill().catch((error: unknown) => {
      // The log goes on in its present segment, and fails for good when it needs the next and there is none.
      this.#logger.warn({ err: error, directory: this.#directory }, 'the next log segment cannot be prepared');
      this.#pausedUntilBytes = usedBytes + RETRY_AFTER_BYTES;
    });
  }

  /**
   * Completes the prepared segment and gives it its name, **durable** on resolve. Rejects with DiskError.
   * @param activeBytes of the segment before; 0 when it is the first
   */
  async take(name: SegmentName, activeBytes: number): Promise<DiskFile> {
    if (this.#nextBytes === 0) this.#nextBytes = this.#bytesAfter(activeBytes);
    this.#targetBytes = this.#nextBytes;
    await this.#filling?.catch((error: unknown) => {
      if (!isNoSpace(error)) throw error;
    });
    if (this.#file === undefined || this.#filledBytes < this.#nextBytes) await this.#fill();
    await this.#closeFile();
    const path = join(this.#directory, segmentFileName(name));
    await this.#disk.rename(join(this.#directory, PREPARED_SEGMENT_NAME), path);
    await this.#disk.syncDirectory(this.#directory);
    this.#nextBytes = 0;
    this.#filledBytes = 0;
    this.#targetBytes = 0;
    this.#pausedUntilBytes = 0;
    return this.#disk.open(path, 'existing');
  }

  async close(): Promise<void> {
    this.#closed = true;
    // It was reported, and nothing depends on it any more.
    await this.#filling?.catch(() => {});
    await this.#closeFile();
  }

  #bytesAfter(activeBytes: number): number {
    return Math.min(this.#segmentBytes, Math.max(FIRST_SEGMENT_BYTES, activeBytes * GROWTH));
  }

  /** A failure stays in #filling: nothing is tried again after a failed write, but for one on a full disk. */
  #fill(): Promise<void> {
    const filling = this.#fillToTarget().then(
      () => {
        this.#filling = undefined;
      },
      async (error: unknown) => {
        if (isNoSpace(error)) await this.#discard();
        throw error;
      },
    );
    this.#filling = filling;
    return filling;
  }

  /** Gives back the space that was taken in vain. Nothing that anybody relies on is in the file. */
  async #discard(): Promise<void> {
    await this.#closeFile();
    await removeIfThere(join(this.#directory, PREPARED_SEGMENT_NAME), this.#disk);
    this.#filledBytes = 0;
    this.#filling = undefined;
  }

  async #fillToTarget(): Promise<void> {
    this.#file ??= await this.#openFile();
    while (this.#filledBytes < this.#targetBytes && !this.#closed) {
      const bytes = Math.min(ZEROS.length, this.#nextBytes - this.#filledBytes);
      await this.#file.write(this.#filledBytes, ZEROS.subarray(0, bytes));
      await this.#file.sync();
      this.#filledBytes += bytes;
      this.filled?.();
    }
  }

  /**
   * What an earlier run has left is made again, though it may look complete: after a failed sync the kernel shows zeros that are not on
   * disk and that no later sync writes, and a segment made of them would lose its length with the power. A spare has its length
   * durably, and every byte of it is written again.
   */
  async #openFile(): Promise<DiskFile> {
    const path = join(this.#directory, PREPARED_SEGMENT_NAME);
    await removeIfThere(path, this.#disk);
    // What a spare holds behind a smaller segment would be taken for log.
    const spare = this.#nextBytes === this.#segmentBytes ? await this.#spare?.take(path) : undefined;
    return spare ?? this.#disk.open(path, 'create');
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}

function isNoSpace(error: unknown): boolean {
  return error instanceof DiskError && error.code === 'NO_SPACE';
}
