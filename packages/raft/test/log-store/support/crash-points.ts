/**
 * Cuts a simulated machine's power at one chosen operation of its disk. A disk operation that changes something is a boundary: what
 * came before it is done, and it is itself not begun, or begun and written in part.
 */

import type { Disk, DiskFile } from '@holdfast/runtime';
import type { Tear } from '@holdfast/runtime/sim';
import type { Machine } from './machine.ts';

/** One that changes something, in the order in which the program asked for them. */
export interface DiskStep {
  readonly what: string;
  /** Bytes that it writes; 0 for one that writes none. */
  readonly bytes: number;
}

export type PowerCut =
  /** The step is not begun; what was not durable before it is lost, or is on the disk all the same. */
  | { readonly step: number; readonly type: 'before'; readonly unsynced: Extract<Tear, 'none' | 'all'> }
  /** Of the step's bytes only those are on the disk. */
  | { readonly step: number; readonly type: 'within'; readonly from: number; readonly to: number };

const never = new Promise<never>(() => {});

export class CrashPoints {
  /** What was asked for up to now, the step that was cut included. */
  readonly steps: DiskStep[] = [];
  /** Resolves when the power has gone and come back. */
  readonly cut: Promise<void>;
  readonly #machine: Machine;
  readonly #plan: PowerCut | undefined;
  #resolveCut: () => void = () => {};

  /** Without a plan it only counts. */
  constructor(machine: Machine, plan?: PowerCut) {
    this.#machine = machine;
    this.#plan = plan;
    this.cut = new Promise((resolve) => {
      this.#resolveCut = resolve;
    });
  }

  readonly on = (disk: Disk): Disk => ({
    list: (path) => disk.list(path),
    readFile: (path) => disk.readFile(path),
    freeBytes: (path) => disk.freeBytes(path),
    restrictAccess: (path) => disk.restrictAccess(path),
    lockDirectory: (path) => disk.lockDirectory(path),
    makeDirectory: (path) => this.#step(`make ${path}`, () => disk.makeDirectory(path)),
    rename: (from, to) => this.#step(`rename ${from} to ${to}`, () => disk.rename(from, to)),
    remove: (path) => this.#step(`remove ${path}`, () => disk.remove(path)),
    removeTree: (path) => this.#step(`remove all of ${path}`, () => disk.removeTree(path)),
    syncDirectory: (path) => this.#step(`sync ${path}`, () => disk.syncDirectory(path)),
    open: async (path, mode) => {
      if (mode === 'existing') return this.#watched(await disk.open(path, mode));
      return this.#watched(await this.#step(`create ${path}`, () => disk.open(path, mode)));
    },
  });

  #watched(file: DiskFile): DiskFile {
    const { path } = file;
    const writing = (what: string, position: number, bytes: Uint8Array, run: () => Promise<void>): Promise<void> =>
      this.#step(`${what} ${path} at ${position}`, run, {
        length: bytes.length,
        part: (from, to) => void file.write(position + from, bytes.subarray(from, to)),
      });
    return {
      path,
      append: (position, buffers) =>
        writing('append', position, Buffer.concat(buffers), () => file.append(position, buffers)),
      write: (position, bytes) => writing('write', position, bytes, () => file.write(position, bytes)),
      sync: () => this.#step(`sync ${path}`, () => file.sync()),
      truncate: (length) => this.#step(`truncate ${path} to ${length}`, () => file.truncate(length)),
      read: (position, length) => file.read(position, length),
      size: () => file.size(),
      close: () => file.close(),
    };
  }

  #step<T>(
    what: string,
    run: () => Promise<T>,
    bytes?: { readonly length: number; part(from: number, to: number): void },
  ): Promise<T> {
    const number = this.steps.length;
    this.steps.push({ what, bytes: bytes?.length ?? 0 });
    if (number !== this.#plan?.step) return run();
    if (this.#plan.type === 'before') {
      this.#machine.crash(this.#plan.unsynced);
    } else {
      bytes?.part(this.#plan.from, this.#plan.to);
      this.#machine.crash('all');
    }
    this.#resolveCut();
    return never;
  }
}
