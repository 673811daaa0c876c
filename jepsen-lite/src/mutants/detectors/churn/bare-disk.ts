/** What a bare core has on its disk, as it is at present. */

import type { DurableState, Entry, LogIndex } from '@holdfast/raft/core';

import {
  EMPTY_DISK,
  atStart,
  bootFrom,
  compacted,
  entriesOn,
  wholeLog,
  withSnapshot,
  written,
  type Persist,
  type Snapshot,
} from '../../../cores/disk.ts';

export class BareDisk {
  #disk = EMPTY_DISK;

  get snapshot(): Snapshot | undefined {
    return this.#disk.snapshot;
  }

  /** What a start begins with. */
  boot(): DurableState {
    this.#disk = atStart(this.#disk);
    return bootFrom(this.#disk);
  }

  write(persist: Persist): void {
    this.#disk = written(this.#disk, persist);
  }

  keep(snapshot: Snapshot): void {
    this.#disk = withSnapshot(this.#disk, snapshot);
  }

  compact(upTo: LogIndex): void {
    this.#disk = compacted(this.#disk, upTo);
  }

  entries(from: LogIndex, to: LogIndex): readonly Entry[] {
    return entriesOn(this.#disk, from, to);
  }

  log(writes: readonly Persist[]): readonly Entry[] {
    return wholeLog(this.#disk, writes);
  }
}
