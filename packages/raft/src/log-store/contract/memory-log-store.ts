/**
 * A log store in memory, for tests of what stands above one. What was written is "durable" for as long as the object lives;
 * `reopen` gives what a restart would find.
 */

import { crc32 } from 'node:zlib';
import { invariant, nextIndex, NO_SERVER, type Entry, type LogIndex, type DurableState } from '../../core/index.ts';
import { LogImage } from './log-image.ts';
import type { LogStore, WriteBatch } from './log-store.ts';
import { isNewer, type SnapshotInfo, type SnapshotMeta, type SnapshotSink, type SnapshotSource } from './snapshot.ts';

/** Of a snapshot's bytes in one read. */
const CHUNK_BYTES = 64 * 1024;

interface StoredSnapshot {
  readonly info: SnapshotInfo;
  readonly data: Uint8Array;
}

interface Contents {
  readonly durable: DurableState;
  readonly entries: readonly Entry[];
  readonly snapshot: StoredSnapshot | undefined;
}

export class MemoryLogStore implements LogStore {
  readonly durable: DurableState;
  readonly #image: LogImage;
  /** Those behind the base. */
  #entries: Entry[];
  #snapshot: StoredSnapshot | undefined;
  #closed = false;

  constructor(contents?: Contents) {
    this.#image = new LogImage(contents?.durable);
    this.#entries = [...(contents?.entries ?? [])];
    this.#snapshot = contents?.snapshot;
    const found = this.#snapshot?.info;
    if (found !== undefined && this.#image.termAt(found.index) !== found.term) {
      // It was received, and the log was to go on behind it.
      if (this.#image.hardState.term < found.term) {
        this.#image.setHardState({ term: found.term, votedFor: NO_SERVER });
      }
      this.#image.beginAt(found);
      this.#entries = [];
    }
    this.durable = this.#image.durableState(found);
  }

  get firstIndex(): LogIndex {
    return nextIndex(this.#image.base.index);
  }

  get snapshot(): SnapshotInfo | undefined {
    return this.#snapshot?.info;
  }

  write(batch: WriteBatch): Promise<void> {
    return this.#run(() => {
      const reason = this.#image.contradiction(batch);
      invariant(reason === undefined, 'a-batch-follows-the-log', () => reason ?? '');
      const { hardState, snapshot, truncateFrom, entries } = batch;
      if (hardState !== undefined) this.#image.setHardState(hardState);
      if (snapshot !== undefined) {
        this.#image.beginAt(snapshot);
        this.#entries = [];
      }
      if (truncateFrom !== undefined) {
        this.#image.truncateFrom(truncateFrom);
        this.#entries.length = this.#image.lastIndex - this.#image.base.index;
      }
      this.#image.append(entries);
      for (const entry of entries) this.#entries.push({ ...entry, data: entry.data.slice() });
    });
  }

  read(from: LogIndex, to: LogIndex, maxBytes: number): Promise<Entry[]> {
    return this.#run(() => {
      const base = this.#image.base.index;
      if (from <= base) return [];
      const found: Entry[] = [];
      let bytes = 0;
      for (const entry of this.#entries.slice(from - base - 1, to - base)) {
        bytes += entry.data.length;
        if (found.length > 0 && bytes > maxBytes) break;
        found.push(entry);
      }
      return found;
    });
  }

  createSnapshot(meta: SnapshotMeta): Promise<SnapshotSink> {
    return this.#run(() => {
      const parts: Uint8Array[] = [];
      let bytes = 0;
      const stored = (): StoredSnapshot => {
        const data = Uint8Array.from(Buffer.concat(parts));
        return { info: { ...meta, bytes, crc: crc32(data) }, data };
      };
      return {
        get bytes() {
          return bytes;
        },
        write: (part) =>
          this.#run(() => {
            parts.push(Uint8Array.from(part));
            bytes += part.length;
          }),
        seal: () => this.#run(() => this.#source(stored())),
        finish: () =>
          this.#run(() => {
            const snapshot = stored();
            if (isNewer(snapshot.info, this.snapshot)) this.#snapshot = snapshot;
            return snapshot.info;
          }),
        abort: () => Promise.resolve(),
      };
    });
  }

  openSnapshot(): Promise<SnapshotSource | undefined> {
    return this.#run(() => (this.#snapshot === undefined ? undefined : this.#source(this.#snapshot)));
  }

  compact(upTo: LogIndex): Promise<void> {
    return this.#run(() => {
      const snapshotIndex = this.snapshot?.index ?? 0;
      invariant(upTo <= snapshotIndex, 'only-what-a-snapshot-holds-is-forgotten', () => `${upTo} of ${snapshotIndex}`);
      const { base } = this.#image;
      const term = this.#image.termAt(upTo);
      if (upTo <= base.index || term === undefined) return;
      this.#entries.splice(0, upTo - base.index);
      this.#image.compactTo({ index: upTo, term });
    });
  }

  /** It keeps none. */
  allowSpare(): void {}

  liftVoteBan(): Promise<void> {
    return this.#run(() => {});
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  reopen(): MemoryLogStore {
    const durable = this.#image.durableState(undefined);
    return new MemoryLogStore({ durable, entries: this.#entries, snapshot: this.#snapshot });
  }

  #source({ info, data }: StoredSnapshot): SnapshotSource {
    return {
      info,
      path: 'a snapshot in memory',
      roomBytes: 0,
      read: (offset) => this.#run(() => data.slice(offset, offset + CHUNK_BYTES)),
      close: () => Promise.resolve(),
    };
  }

  async #run<Result>(operation: () => Result): Promise<Result> {
    if (this.#closed) throw new Error('the log store is closed');
    return operation();
  }
}
