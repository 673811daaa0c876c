/**
 * How much room the disk of this server's data directory has. Asked at a fixed interval, never on the path of a request. Low below
 * the reserve, and then until there is more than the resume mark, so that it does not flap. What follows from it is disk-guard.ts's.
 */

import type { Clock, Disk, Logger, Timer } from '@holdfast/runtime';
import { DISK_CHECK_INTERVAL_MS } from '../limits.ts';

/** What others may know of the own disk. */
export interface OwnDisk {
  /** Undefined while it could not be asked. */
  readonly freeBytes: number | undefined;
  readonly low: boolean;
  readonly reserveBytes: number;
}

export interface DiskSpaceOptions {
  readonly path: string;
  /** Below this the disk is low. */
  readonly reserveBytes: number;
  /** From this on it is not low any more. */
  readonly resumeBytes: number;
}

export interface DiskSpaceDeps {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DiskSpace implements OwnDisk {
  freeBytes: number | undefined;
  low = false;
  readonly reserveBytes: number;
  readonly #options: DiskSpaceOptions;
  readonly #deps: DiskSpaceDeps;
  #timer: Timer | undefined;
  #stopped = false;
  #failing = false;

  constructor(options: DiskSpaceOptions, deps: DiskSpaceDeps) {
    this.#options = options;
    this.#deps = deps;
    this.reserveBytes = options.reserveBytes;
  }

  /** Asks once, and from then on at each interval; `checked` is called after each but the first. */
  async start(checked: () => void): Promise<void> {
    await this.#check();
    this.#arm(checked);
  }

  /** So little is free that nothing should be kept there that can be spared: less than the resume mark. */
  get tight(): boolean {
    return this.freeBytes !== undefined && this.freeBytes < this.#options.resumeBytes;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #arm(checked: () => void): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.setTimer(DISK_CHECK_INTERVAL_MS, () => {
      void this.#check().then(() => {
        if (this.#stopped) return;
        checked();
        this.#arm(checked);
      });
    });
  }

  /** A disk that does not answer is not taken for a full one. */
  async #check(): Promise<void> {
    const { path } = this.#options;
    try {
      this.freeBytes = await this.#deps.disk.freeBytes(path);
      this.#failing = false;
    } catch (error) {
      this.freeBytes = undefined;
      if (!this.#failing) this.#deps.logger.warn({ err: error, path }, 'the free space of the disk cannot be asked');
      this.#failing = true;
      return;
    }
    this.#judge(this.freeBytes);
  }

  #judge(freeBytes: number): void {
    const { path, reserveBytes, resumeBytes } = this.#options;
    const low = freeBytes < (this.low ? resumeBytes : reserveBytes);
    if (low === this.low) return;
    this.low = low;
    const { logger } = this.#deps;
    if (low) logger.warn({ path, freeBytes, reserveBytes, resumeBytes }, 'the disk is almost full; free space on it');
    else logger.info({ path, freeBytes }, 'the disk has room again');
  }
}
