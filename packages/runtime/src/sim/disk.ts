/**
 * A simulated disk, as hardware: it outlives the processes that use it. Tests break it here (faults, space, bit flips, power
 * failures) and look at what is durable; a process gets its `Disk` from `diskOf`.
 */

import { DiskError } from '../disk.ts';
import type { DiskErrorCode } from '../disk.ts';
import type { Random } from '../random.ts';
import type { Tear } from './disk-content.ts';
import { DiskTree } from './disk-tree.ts';
import type { DirectoryNode } from './disk-tree.ts';
import { drawTicks } from './latency.ts';
import type { Latency } from './latency.ts';
import { never } from './process.ts';
import type { SimProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

export type DiskOperation =
  | 'append'
  | 'write'
  | 'sync'
  | 'read'
  | 'truncate'
  | 'open'
  | 'list'
  | 'rename'
  | 'remove'
  | 'makeDirectory'
  | 'syncDirectory'
  | 'lockDirectory';

/** `durable` covers append, sync, syncDirectory and makeDirectory; `cached` everything else. */
export interface DiskLatency {
  readonly durable: Latency;
  readonly cached: Latency;
}

const DEFAULT_LATENCY: DiskLatency = {
  durable: { minMs: 0.1, maxMs: 2 },
  cached: { minMs: 0.02, maxMs: 0.1 },
};

/** More than any test writes, and still an exact integer. */
const DEFAULT_CAPACITY_BYTES = 2 ** 45;

interface Fault {
  readonly operation: DiskOperation;
  readonly code: DiskErrorCode;
  readonly pathIncludes: string;
}

/** What an operation does when its time has come: `complete` gives the answer, `fail` is told that it is to fail instead. */
export interface OperationSteps<T> {
  complete(): T;
  fail?(): void;
}

export class SimDisk {
  readonly tree = new DiskTree();
  readonly random: Random;
  readonly #scheduler: Scheduler;
  readonly #locks = new Map<DirectoryNode, SimProcess>();
  #faults: Fault[] = [];
  #latency = DEFAULT_LATENCY;
  #capacityBytes = DEFAULT_CAPACITY_BYTES;
  #powerCycles = 0;

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.random = random;
  }

  /**
   * The next such operation fails with `code`, on paths that contain `pathIncludes` if it is given. What a failed write or sync
   * covered may or may not be on disk after a crash, and no later sync makes it durable, as with a real kernel.
   */
  failNext(operation: DiskOperation, code: DiskErrorCode, options: { readonly pathIncludes?: string } = {}): void {
    this.#faults.push({ operation, code, pathIncludes: options.pathIncludes ?? '' });
  }

  setLatency(latency: Partial<DiskLatency>): void {
    this.#latency = { ...this.#latency, ...latency };
  }

  get freeBytes(): number {
    return Math.max(0, this.#capacityBytes - this.tree.usedBytes());
  }

  /** From now on files can grow by this much in total; shrinking and removing files frees space. */
  setFreeBytes(bytes: number): void {
    this.#capacityBytes = this.tree.usedBytes() + bytes;
  }

  get hasUnlimitedSpace(): boolean {
    return this.#capacityBytes === DEFAULT_CAPACITY_BYTES;
  }

  /** Silent corruption of one bit, in the cache and on the medium. */
  flipBit(path: string, offset: number, bit = 0): void {
    this.tree.file(path).content.flipBit(offset, bit);
  }

  /** What programs see. */
  bytes(path: string): Uint8Array {
    const { content } = this.tree.file(path);
    return content.read(0, content.length);
  }

  /** What a power failure would leave of the file; undefined when not even its name would survive. */
  durableBytes(path: string): Uint8Array | undefined {
    return this.tree.durableFile(path)?.content.durableBytes();
  }

  /** Paths of all files, sorted. */
  files(): string[] {
    return this.tree.files(false);
  }

  /** Paths of the files whose names a power failure would leave, sorted. */
  durableFiles(): string[] {
    return this.tree.files(true);
  }

  /** The power goes: operations in flight end as `tear` says, everything that is not durable is lost or not. */
  powerFailure(tear: Tear): void {
    this.#powerCycles += 1;
    this.tree.powerFailure(tear, this.random);
  }

  /** False when another process holds the directory; what a dead one held is free. */
  takeLock(directory: DirectoryNode, process: SimProcess): boolean {
    if (this.#locks.get(directory)?.alive === true) return false;
    this.#locks.set(directory, process);
    return true;
  }

  releaseLock(directory: DirectoryNode, process: SimProcess): void {
    if (this.#locks.get(directory) === process) this.#locks.delete(directory);
  }

  /**
   * Runs one operation for a process. `begin` runs now: it takes the operation's place among the others. The medium works on
   * while the process is paused or dead (killed), but not over a power failure.
   */
  perform<T>(process: SimProcess, operation: DiskOperation, path: string, begin: () => OperationSteps<T>): Promise<T> {
    if (!process.alive) return never();
    const fault = this.#takeFault(operation, path);
    let steps: OperationSteps<T> | undefined;
    let failure: DiskError | undefined;
    try {
      steps = begin();
      if (fault !== undefined) {
        steps.fail?.();
        failure = new DiskError(fault.code, path, `injected fault: ${operation} of "${path}" fails with ${fault.code}`);
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      failure = error;
    }
    const { durable, cached } = this.#latency;
    const delayTicks = drawTicks(isDurable(operation) ? durable : cached, this.random);
    const powerCycle = this.#powerCycles;
    const kind = `disk-${operation}` as const;
    return new Promise<T>((resolve, reject) => {
      this.#scheduler.schedule(delayTicks, process.kinds.of(kind), () => {
        if (powerCycle !== this.#powerCycles) return;
        const settle =
          failure === undefined && steps !== undefined ? settled(steps, resolve, reject) : () => reject(failure);
        process.deliver('io', kind, settle);
      });
    });
  }

  #takeFault(operation: DiskOperation, path: string): Fault | undefined {
    const fault = this.#faults.find((each) => each.operation === operation && path.includes(each.pathIncludes));
    this.#faults = this.#faults.filter((each) => each !== fault);
    return fault;
  }
}

function settled<T>(
  steps: OperationSteps<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): () => void {
  try {
    const value = steps.complete();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}

function isDurable(operation: DiskOperation): boolean {
  return (
    operation === 'append' || operation === 'sync' || operation === 'syncDirectory' || operation === 'makeDirectory'
  );
}
