/** Ends a simulated process at one step of its disk. A step is an operation that changes what the disk has, counted from 1. */

import type { Disk, DiskFile } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';

/** How it ends: the power fails `before` the step, or while it is under way, which leaves part of it (`torn`) or all; or a kill, which the disk outlives. */
export const ENDS = ['before', 'torn', 'whole', 'killed', 'after'] as const;

export interface CrashPoint {
  readonly step: number;
  readonly end: (typeof ENDS)[number];
}

export class CrashPoints {
  /** Counts, and ends the host. */
  readonly disk: Disk;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  readonly #host: SimHost;
  readonly #point: CrashPoint | undefined;
  #steps = 0;
  #end: () => void = () => {};

  /** Without a point it counts. */
  constructor(host: SimHost, point?: CrashPoint) {
    this.#host = host;
    this.#point = point;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.disk = this.#countedDisk(host.runtime.disk);
  }

  get steps(): number {
    return this.#steps;
  }

  #counted<A extends unknown[], R>(run: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return async (...args) => {
      this.#steps += 1;
      if (this.#point?.step !== this.#steps) return await run(...args);
      const { end } = this.#point;
      if (end !== 'before') {
        const done = run(...args);
        if (end === 'after') await done;
      }
      if (end === 'killed') this.#host.kill();
      else this.#host.crash({ tear: end === 'torn' ? 'random' : end === 'whole' ? 'all' : 'none' });
      this.#end();
      return await new Promise<R>(() => {});
    };
  }

  #countedDisk(disk: Disk): Disk {
    return {
      ...bound(disk),
      makeDirectory: this.#counted(async (path) => await disk.makeDirectory(path)),
      rename: this.#counted(async (from, to) => await disk.rename(from, to)),
      remove: this.#counted(async (path) => await disk.remove(path)),
      syncDirectory: this.#counted(async (path) => await disk.syncDirectory(path)),
      open: async (path, mode) => {
        const open = async (): Promise<DiskFile> => await disk.open(path, mode);
        return this.#countedFile(await (mode === 'create' ? this.#counted(open)() : open()));
      },
    };
  }

  #countedFile(file: DiskFile): DiskFile {
    return {
      path: file.path,
      append: this.#counted(async (position, buffers) => await file.append(position, buffers)),
      write: this.#counted(async (position, bytes) => await file.write(position, bytes)),
      sync: this.#counted(async () => await file.sync()),
      truncate: this.#counted(async (length) => await file.truncate(length)),
      read: async (position, length) => await file.read(position, length),
      size: async () => await file.size(),
      close: async () => await file.close(),
    };
  }
}

function bound(disk: Disk): Disk {
  return {
    makeDirectory: async (path) => await disk.makeDirectory(path),
    list: async (path) => await disk.list(path),
    open: async (path, mode) => await disk.open(path, mode),
    readFile: async (path) => await disk.readFile(path),
    rename: async (from, to) => await disk.rename(from, to),
    remove: async (path) => await disk.remove(path),
    removeTree: async (path) => await disk.removeTree(path),
    syncDirectory: async (path) => await disk.syncDirectory(path),
    freeBytes: async (path) => await disk.freeBytes(path),
    restrictAccess: async (path) => await disk.restrictAccess(path),
    lockDirectory: async (path) => await disk.lockDirectory(path),
  };
}
