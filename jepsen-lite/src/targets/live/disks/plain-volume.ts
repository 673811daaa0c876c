/** A directory of the machine's own disk, which nobody may freeze, fill or shut down. */

import { rmSync } from 'node:fs';

import { FailingCall, FAILED_EFFECTS } from './failing-calls.ts';
import { flipAcknowledgedBit } from './flip-bit.ts';
import { VolumeError, type DiskOperation, type OnStruck, type Volume, type VolumeFault } from './volume.ts';

export interface PlainVolumeOptions {
  readonly name: string;
  readonly path: string;
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  readonly struck: OnStruck;
}

export class PlainVolume implements Volume {
  readonly name: string;
  readonly path: string;
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  readonly #struck: OnStruck;
  #failing: FailingCall | undefined;

  constructor({ name, path, lacks, struck }: PlainVolumeOptions) {
    this.name = name;
    this.path = path;
    this.lacks = lacks;
    this.#struck = struck;
  }

  powerLoss(): Promise<void> {
    return this.#refuse('powerLoss');
  }

  remount(): Promise<void> {
    return this.#refuse('powerLoss');
  }

  hang(): Promise<void> {
    return this.#refuse('hang');
  }

  slow(): Promise<void> {
    return this.#refuse('slow');
  }

  fill(): Promise<void> {
    return this.#refuse('fill');
  }

  free(): Promise<void> {
    return this.#refuse('fill');
  }

  async failNext(operation: DiskOperation, pid: number): Promise<void> {
    if (this.lacks.has('failNext')) await this.#refuse('failNext');
    await this.#failing?.disarm();
    this.#failing = await FailingCall.arm(operation, pid, () => this.#struck(FAILED_EFFECTS[operation], 1));
  }

  flipBit(at: number, bit: number): Promise<boolean> {
    return flipAcknowledgedBit(this.path, at, bit);
  }

  async heal(): Promise<void> {
    await this.#failing?.disarm();
    this.#failing = undefined;
  }

  letGo(): Promise<void> {
    return this.heal();
  }

  async close(): Promise<void> {
    await this.letGo();
    rmSync(this.path, { recursive: true, force: true });
  }

  #refuse(fault: VolumeFault): Promise<never> {
    return Promise.reject(new VolumeError(`the volume ${this.name} has no ${fault}: ${this.lacks.get(fault)}`));
  }
}
