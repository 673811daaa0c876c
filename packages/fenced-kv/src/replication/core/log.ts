import { invariant } from './invariant.ts';
import type { Entry, Epoch, LogBase } from './types.ts';

/** The entries of one replica, behind those that are forgotten. Two logs with the same epoch at an index are the same up to there. */
export class ReplicaLog {
  #base: LogBase;
  #entries: Entry[] = [];

  constructor(base: LogBase, entries: readonly Entry[]) {
    this.#base = base;
    for (const entry of entries) this.append(entry);
  }

  get base(): LogBase {
    return this.#base;
  }

  get lastIndex(): number {
    return this.#base.index + this.#entries.length;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** undefined behind the end, and before the base. */
  epochAt(index: number): Epoch | undefined {
    return index === this.#base.index ? this.#base.epoch : this.entryAt(index)?.epoch;
  }

  entryAt(index: number): Entry | undefined {
    return this.#entries[index - this.#base.index - 1];
  }

  append(entry: Entry): void {
    const { lastIndex } = this;
    const lastEpoch = this.epochAt(lastIndex) ?? 0;
    invariant(entry.index === lastIndex + 1, 'entries-follow-each-other', () => `${entry.index} after ${lastIndex}`);
    invariant(entry.epoch >= lastEpoch, 'epochs-of-a-log-never-fall', () => `${entry.epoch} after ${lastEpoch}`);
    this.#entries.push(entry);
  }

  truncateFrom(index: number): void {
    this.#entries.length = index - this.#base.index - 1;
  }

  /** What `upTo` and those before it did is in the buckets. */
  forget(upTo: number): void {
    const epoch = this.epochAt(upTo);
    invariant(epoch !== undefined, 'only-known-entries-are-forgotten', () => `${upTo} of ${this.lastIndex}`);
    this.#entries = this.#entries.slice(upTo - this.#base.index);
    this.#base = { index: upTo, epoch };
  }

  /** Has nothing but the base from now on. */
  reset(base: LogBase): void {
    this.#base = base;
    this.#entries = [];
  }

  /** At most `limit` entries from `index` on, which is behind the base; no more than `maxBytes` where they are several. */
  from(index: number, limit: number, maxBytes: number): readonly Entry[] {
    const start = index - this.#base.index - 1;
    const entries: Entry[] = [];
    let bytes = 0;
    for (const entry of this.#entries.slice(start, start + limit)) {
      bytes += entry.payload?.length ?? 0;
      if (bytes > maxBytes && entries.length > 0) break;
      entries.push(entry);
    }
    return entries;
  }
}
