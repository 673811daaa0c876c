/**
 * A log store in memory, for tests of what stands above one. What was written is "durable" for as long as the object lives;
 * `reopen` gives what a restart would find.
 */

import { invariant, type Entry, type LogIndex } from '../core/index.ts';
import { LogImage } from './log-image.ts';
import type { DurableState, LogStore, WriteBatch } from './log-store.ts';

export class MemoryLogStore implements LogStore {
  readonly durable: DurableState;
  readonly #image: LogImage;
  readonly #entries: Entry[];
  #closed = false;

  constructor(durable?: DurableState, entries: readonly Entry[] = []) {
    this.#image = new LogImage(durable);
    this.#entries = [...entries];
    this.durable = this.#image.durableState();
  }

  write(batch: WriteBatch): Promise<void> {
    return this.#run(() => {
      const reason = this.#image.contradiction(batch);
      invariant(reason === undefined, 'a-batch-follows-the-log', () => reason ?? '');
      const { hardState, truncateFrom, entries } = batch;
      if (hardState !== undefined) this.#image.setHardState(hardState);
      if (truncateFrom !== undefined) {
        this.#image.truncateFrom(truncateFrom);
        this.#entries.length = this.#image.lastIndex;
      }
      this.#image.append(entries);
      for (const entry of entries) this.#entries.push({ ...entry, data: entry.data.slice() });
    });
  }

  read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    return this.#run(() => {
      const found: Entry[] = [];
      let bytes = 0;
      for (const entry of this.#entries.slice(from - 1, to)) {
        bytes += entry.data.length;
        if (found.length > 0 && bytes > maxBytes) break;
        found.push(entry);
      }
      return found;
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  reopen(): MemoryLogStore {
    return new MemoryLogStore(this.#image.durableState(), this.#entries);
  }

  async #run<Result>(operation: () => Result): Promise<Result> {
    if (this.#closed) throw new Error('the log store is closed');
    return operation();
  }
}
