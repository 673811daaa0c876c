/**
 * A segment that compaction has taken out of the log, kept for its blocks: the next segment is made of them. No start takes it for
 * log, nor for zeros. There is one at most, and none while the disk is short of room.
 *
 * Its old name is gone **durably** before anybody may write into it: a segment that comes back with the power must be what it was.
 * Its length is durable: it was one when it got its first name. That it is overwritten with zeros is left to whoever takes it.
 */

import { dirname, join } from 'node:path';
import { DiskError, type Disk, type DiskFile, type Logger } from '@holdfast/runtime';
import { removeIfThere } from '../files/durable-file.ts';
import { fileSize } from '../files/file-size.ts';
import { SPARE_SEGMENT_NAME } from './segment-name.ts';

export class SpareSegment {
  readonly #path: string;
  readonly #segmentBytes: number;
  readonly #disk: Disk;
  readonly #logger: Logger;
  /** `changing`: coming or going; for nobody else to touch. */
  #state: 'none' | 'changing' | 'ready' = 'none';
  #allowed = true;
  #removing: Promise<void> = Promise.resolve();

  constructor(
    { directory, segmentBytes }: { readonly directory: string; readonly segmentBytes: number },
    { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
  ) {
    this.#path = join(directory, SPARE_SEGMENT_NAME);
    this.#segmentBytes = segmentBytes;
    this.#disk = disk;
    this.#logger = logger;
  }

  /** Takes up what an earlier run has left, or removes it. The directory's names must be durable. Rejects with DiskError. */
  async find(): Promise<void> {
    const sizeBytes = await fileSize(this.#path, this.#disk);
    if (sizeBytes === this.#segmentBytes) this.#state = 'ready';
    else if (sizeBytes !== undefined) await removeIfThere(this.#path, this.#disk);
  }

  /**
   * Takes a segment that the log has let go and nobody reads. False when it is not wanted: there is one already, it has another size
   * than the segments now have, or the disk is short of room. When true its name is gone, **durably**. Rejects with DiskError.
   */
  async offer(path: string): Promise<boolean> {
    if (this.#state !== 'none' || !this.#allowed) return false;
    this.#state = 'changing';
    let taken = false;
    try {
      if ((await fileSize(path, this.#disk)) === this.#segmentBytes) {
        await this.#disk.rename(path, this.#path);
        await this.#disk.syncDirectory(dirname(path));
        taken = true;
      }
    } finally {
      this.#state = taken ? 'ready' : 'none';
    }
    if (!this.#allowed) this.#giveUp();
    return taken;
  }

  /** It gets the name `path`, and is the caller's, with whatever it holds. Undefined when there is none. Rejects with DiskError. */
  async take(path: string): Promise<DiskFile | undefined> {
    if (this.#state !== 'ready') return undefined;
    this.#state = 'changing';
    try {
      await this.#disk.rename(this.#path, path);
    } catch (error) {
      // Somebody has removed it by hand.
      if (error instanceof DiskError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    } finally {
      this.#state = 'none';
    }
    return this.#disk.open(path, 'existing');
  }

  /** Whether one may be kept. When not, the disk gets back the room of the one that is there, in the background. */
  allow(allowed: boolean): void {
    this.#allowed = allowed;
    if (!allowed) this.#giveUp();
  }

  /** It stays, for the next start. */
  async close(): Promise<void> {
    this.#allowed = false;
    await this.#removing;
  }

  #giveUp(): void {
    if (this.#state !== 'ready') return;
    this.#state = 'changing';
    this.#removing = removeIfThere(this.#path, this.#disk).then(
      () => {
        this.#state = 'none';
        this.#logger.info({ file: this.#path }, 'gave up the spare log segment: the disk is short of room');
      },
      (error: unknown) => {
        this.#state = 'none';
        this.#logger.warn({ err: error, file: this.#path }, 'the spare log segment cannot be removed');
      },
    );
  }
}
