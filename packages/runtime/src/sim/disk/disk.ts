/**
 * A simulated disk, as hardware: it outlives the processes that use it. Tests break it here (faults, space, bit flips, power
 * failures) and look at what is durable; a process gets its `Disk` from `diskOf`.
 */

import { DiskError } from '../../disk.ts';
import type { DiskErrorCode } from '../../disk.ts';
import type { Random } from '../../random.ts';
import type { DiskContent, Tear } from './disk-content.ts';
import { eventKind, failed, latencyClass, needsDescriptor, slowed, stalled } from './disk-operation.ts';
import type { DiskOperation } from './disk-operation.ts';
import { DiskTree } from './disk-tree.ts';
import type { DirectoryNode } from './disk-tree.ts';
import { checkLatency, drawTicks } from '../network/latency.ts';
import type { Latency } from '../network/latency.ts';
import { never } from '../process.ts';
import type { SimProcess } from '../process.ts';
import { toTicks } from '../scheduler.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Struck, StruckFault } from '../struck.ts';
import { EventKinds } from '../trace.ts';

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

export interface DiskFaultOptions {
  /** Only on paths that contain this. */
  readonly pathIncludes?: string;
  /**
   * How much of what an append or a write was to write is in the file when it fails: 0 nothing, 0.5 its first half.
   * @default 1
   */
  readonly writtenShare?: number;
}

interface Fault {
  readonly operation: DiskOperation;
  readonly code: DiskErrorCode;
  readonly pathIncludes: string;
  readonly writtenShare: number;
}

export interface DiskServices {
  readonly scheduler: Scheduler;
  readonly struck: Struck;
  readonly randomFor: (name: string) => Random;
}

type Begun<T> =
  | { readonly steps: OperationSteps<T>; readonly failure?: undefined; readonly struck?: undefined }
  | { readonly steps?: undefined; readonly failure: DiskError; readonly struck?: StruckFault };

/** What an operation does when its time has come: `complete` gives the answer, `fail` is told that it is to fail instead. */
export interface OperationSteps<T> {
  complete(): T;
  fail?(): void;
}

export class SimDisk {
  readonly tree = new DiskTree();
  readonly #scheduler: Scheduler;
  readonly #struck: Struck;
  readonly #kinds: EventKinds;
  readonly #latencyRandom: Random;
  readonly #tearRandom: Random;
  readonly #locks = new Map<DirectoryNode, SimProcess>();
  #faults: Fault[] = [];
  #latency = DEFAULT_LATENCY;
  #slowness: Partial<DiskLatency> = {};
  #stalledUntilTicks = 0;
  #noDescriptorsUntilTicks = 0;
  /** Operations that would be done, had the disk not hung. */
  #hung: (() => void)[] = [];
  #capacityBytes = DEFAULT_CAPACITY_BYTES;
  #powerCycles = 0;

  constructor(name: string, { scheduler, struck, randomFor }: DiskServices) {
    this.#scheduler = scheduler;
    this.#struck = struck;
    this.#kinds = new EventKinds(name);
    this.#latencyRandom = randomFor(`disk/${name}`);
    this.#tearRandom = randomFor(`disk/${name}/tear`);
  }

  /**
   * The next such operation fails with `code`. What a failed write or sync covered may or may not be on disk after a crash, and
   * no later sync makes it durable, as with a real kernel.
   */
  failNext(operation: DiskOperation, code: DiskErrorCode, options: DiskFaultOptions = {}): void {
    const { pathIncludes = '', writtenShare = 1 } = options;
    if (!(writtenShare >= 0 && writtenShare <= 1)) {
      throw new RangeError(`the share that a failing write has written must be from 0 to 1, not ${writtenShare}`);
    }
    this.#faults.push({ operation, code, pathIncludes, writtenShare });
  }

  /** For so long no descriptor is free: whatever needs one fails with NO_DESCRIPTORS, and does nothing. Open files go on. */
  exhaustDescriptors(forMs: number): void {
    this.#noDescriptorsUntilTicks = this.#scheduler.nowTicks + toTicks(forMs);
  }

  setLatency(latency: Partial<DiskLatency>): void {
    for (const each of [latency.durable, latency.cached]) if (each !== undefined) checkLatency(each);
    this.#latency = { ...this.#latency, ...latency };
  }

  /** Operations take so long instead of their latency. Undefined: their latency again. */
  slow(slowness: Partial<DiskLatency> | undefined): void {
    for (const each of [slowness?.durable, slowness?.cached]) if (each !== undefined) checkLatency(each);
    this.#slowness = slowness ?? {};
  }

  /** The disk hangs: no operation, those under way included, finishes within this time. */
  stall(forMs: number): void {
    if (!(forMs >= 0 && forMs < Infinity)) throw new RangeError(`a disk cannot stall for ${forMs} ms`);
    this.#stalledUntilTicks = Math.max(this.#stalledUntilTicks, this.#scheduler.nowTicks + toTicks(forMs));
    this.#scheduler.schedule(toTicks(forMs), this.#kinds.of('disk-goes-on'), { run: () => this.#goOn() });
  }

  /** Ends every fault of the disk: failures that have not yet struck, a hang, a lack of space. Latencies, slowness and flipped bits stay. */
  heal(): void {
    this.#faults = [];
    this.#stalledUntilTicks = 0;
    this.#noDescriptorsUntilTicks = 0;
    this.#scheduler.schedule(0, this.#kinds.of('disk-goes-on'), { run: () => this.#goOn() });
    this.#capacityBytes = DEFAULT_CAPACITY_BYTES;
  }

  get freeBytes(): number {
    return Math.max(0, this.#capacityBytes - this.tree.usedBytes());
  }

  /** From now on files can grow by this much in total; shrinking and removing files frees space. */
  setFreeBytes(bytes: number): void {
    this.#capacityBytes = this.tree.usedBytes() + bytes;
  }

  get hasUnlimitedSpace(): boolean {
    return this.#capacityBytes >= DEFAULT_CAPACITY_BYTES;
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
    this.tree.powerFailure(tear, this.#tearRandom, this.#struck);
  }

  /** Another disk, an empty one, takes the place of this one. */
  replace(): void {
    this.#powerCycles += 1;
    this.tree.clear();
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

  /** What a program reads of a file. */
  read(content: DiskContent, position: number, length: number): Uint8Array {
    this.#struck.count('flipped-bit-read', content.takeFlips(position, length));
    return content.read(position, length);
  }

  /**
   * Runs one operation for a process. `begin` runs now: it takes the operation's place among the others, and is told how much of
   * what it writes gets into the file. The medium works on while the process is paused or dead (killed), but not over a power
   * failure.
   */
  perform<T>(
    process: SimProcess,
    operation: DiskOperation,
    path: string,
    begin: (writtenShare: number) => OperationSteps<T>,
  ): Promise<T> {
    if (!process.alive) return never();
    const begun = this.#begin(operation, path, begin);
    const { struck } = begun;
    const faults = struck === undefined ? [] : [struck];
    const latencies = latencyClass(operation);
    const usual = this.#latency[latencies];
    const slow = this.#slowness[latencies];
    const delayTicks = drawTicks(slow ?? usual, this.#latencyRandom);
    if (slow !== undefined && delayTicks > toTicks(usual.maxMs)) faults.push(slowed(operation));
    const kind = eventKind(operation);
    const powerCycle = this.#powerCycles;
    return new Promise<T>((resolve, reject) => {
      const finish = () => {
        if (powerCycle !== this.#powerCycles) return;
        const settle = settled(begun, resolve, reject);
        process.deliver('io', kind, () => {
          for (const fault of faults) this.#struck.count(fault);
          settle();
        });
      };
      const run = () => {
        if (!this.#isStalled) return finish();
        faults.push(stalled(operation));
        this.#hung.push(finish);
      };
      this.#scheduler.schedule(delayTicks, process.kinds.of(kind), { run });
    });
  }

  get #isStalled(): boolean {
    return this.#stalledUntilTicks > this.#scheduler.nowTicks;
  }

  #goOn(): void {
    if (this.#isStalled) return;
    const hung = this.#hung;
    this.#hung = [];
    for (const finish of hung) finish();
  }

  #begin<T>(operation: DiskOperation, path: string, begin: (writtenShare: number) => OperationSteps<T>): Begun<T> {
    if (needsDescriptor(operation) && this.#noDescriptorsUntilTicks > this.#scheduler.nowTicks) {
      const message = `injected fault: no descriptor is free for ${operation} of "${path}"`;
      return { failure: new DiskError('NO_DESCRIPTORS', path, message), struck: failed(operation, 0) };
    }
    const fault = this.#takeFault(operation, path);
    try {
      const steps = begin(fault?.writtenShare ?? 1);
      if (fault === undefined) return { steps };
      steps.fail?.();
      const message = `injected fault: ${operation} of "${path}" fails with ${fault.code}`;
      return { failure: new DiskError(fault.code, path, message), struck: failed(operation, fault.writtenShare) };
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      return error.code === 'NO_SPACE' ? { failure: error, struck: 'no-space' } : { failure: error };
    }
  }

  #takeFault(operation: DiskOperation, path: string): Fault | undefined {
    if (this.#faults.length === 0) return undefined;
    const fault = this.#faults.find((each) => each.operation === operation && path.includes(each.pathIncludes));
    this.#faults = this.#faults.filter((each) => each !== fault);
    return fault;
  }
}

function settled<T>(
  { steps, failure }: Begun<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): () => void {
  if (steps === undefined) return () => reject(failure);
  try {
    const value = steps.complete();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}
