/** A simulated machine for tests of what is on its disk: they run in virtual time and cut its power. */

import type { Disk, DiskErrorCode, Random } from '@holdfast/runtime';
import { SimWorld, type DiskFaultOptions, type DiskOperation, type SimHost, type Tear } from '@holdfast/runtime/sim';

export class Machine {
  readonly #world: SimWorld;
  readonly #host: SimHost;

  constructor(world: SimWorld) {
    this.#world = world;
    this.#host = world.host('machine');
  }

  /** As the present process sees it; what an earlier one has asked for never settles. */
  get disk(): Disk {
    return this.#host.runtime.disk;
  }

  get random(): Random {
    return this.#host.runtime.random;
  }

  /** The power goes and comes back. */
  crash(tear: Tear = 'none'): void {
    this.#host.crash({ tear });
    this.#host.restart();
  }

  /** SIGKILL, and a new start of the process: what was written stays in the disk cache. */
  kill(): void {
    this.#host.kill();
    this.#host.restart();
  }

  /** Resolves when the power has gone and come back after so much virtual time. */
  crashAfter(delayMs: number, tear: Tear): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(delayMs, () => {
        this.crash(tear);
        resolve();
      });
    });
  }

  /** Resolves when the process has been killed and started again after so much virtual time. */
  killAfter(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(delayMs, () => {
        this.kill();
        resolve();
      });
    });
  }

  /** Lets virtual time pass: longer than anything that goes on in the background takes. */
  quiesce(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(1_000, resolve);
    });
  }

  failNext(operation: DiskOperation, code: DiskErrorCode, options: DiskFaultOptions = {}): void {
    this.#host.disk.failNext(operation, code, options);
  }

  slowDown(latency: { readonly minMs: number; readonly maxMs: number }): void {
    this.#host.disk.setLatency({ durable: latency, cached: latency });
  }

  /** No operation of the disk ends within this time. */
  hang(forMs: number): void {
    this.#host.disk.stall(forMs);
  }

  setFreeBytes(bytes: number): void {
    this.#host.disk.setFreeBytes(bytes);
  }

  bytes(path: string): Uint8Array {
    return this.#host.disk.bytes(path);
  }

  files(): string[] {
    return this.#host.disk.files();
  }

  /** Of the files whose names a power failure would leave. */
  durableFiles(): string[] {
    return this.#host.disk.durableFiles();
  }

  flipBit(path: string, offset: number): void {
    this.#host.disk.flipBit(path, offset, 4);
  }

  /** What else can befall bytes on a disk. */
  async overwrite(path: string, position: number, bytes: Uint8Array): Promise<void> {
    const file = await this.disk.open(path, 'existing');
    await file.append(position, [bytes]);
    await file.close();
  }

  async createFile(path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.disk.open(path, 'create');
    await file.append(0, [bytes]);
    await file.close();
    await this.disk.syncDirectory(path.slice(0, path.lastIndexOf('/')));
  }
}

/** Runs a test on a new machine, in virtual time. The same seed, the same run. */
export async function onMachine(test: (machine: Machine) => Promise<void>, seed = 1): Promise<void> {
  const world = new SimWorld({ seed });
  await world.complete(test(new Machine(world)), { maxMs: 3_600_000 });
}
