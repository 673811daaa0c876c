/**
 * An engine over `Disk`: a map in memory and a journal of every commit, read again at open. One durable append is one
 * group of commits. Simulations use it, because it runs on virtual time and on a disk that loses what was not synced;
 * it holds all data in memory, so production uses LMDB.
 */

import { DiskError } from '@holdfast/runtime';
import type { Disk, DiskFile } from '@holdfast/runtime';

import type { CommitFigures, EngineOptions, Reader, Snapshot, SnapshotEngine, Transaction } from './engine.ts';
import { describeError, EngineError } from './engine-error.ts';
import { GroupCommit } from './group-commit.ts';
import type { Write } from './group-commit.ts';
import { decodeRecord, encodeRecord, hasRecordAfter, JOURNAL_HEADER } from './journal-record.ts';
import { SortedMap } from './sorted-map.ts';

export const JOURNAL_NAME = 'journal';
const REWRITE_NAME = 'journal.new';
/** The journal is written anew when it is this many times longer than what a new one would be. */
const REWRITE_RATIO = 4;
/** The journal is written anew only when it is at least so long. @internal Tests lower it. */
const DEFAULT_REWRITE_MIN_BYTES = 1024 * 1024;

export interface JournalEngineOptions extends EngineOptions {
  readonly disk: Disk;
  /** @default 1 MiB */
  readonly rewriteMinBytes?: number;
}

interface Journal {
  readonly file: DiskFile;
  readonly map: SortedMap;
  /** Where the next record goes. */
  readonly end: number;
  readonly sequence: number;
}

/** Creates the directory and the journal, or reads them again. Rejects with {@link EngineError}. */
export async function openJournalEngine(directory: string, options: JournalEngineOptions): Promise<SnapshotEngine> {
  const { disk } = options;
  let file: DiskFile | undefined;
  try {
    await disk.makeDirectory(directory);
    const names = await disk.list(directory);
    if (names.includes(REWRITE_NAME)) await disk.remove(`${directory}/${REWRITE_NAME}`);
    const path = `${directory}/${JOURNAL_NAME}`;
    file = await disk.open(path, names.includes(JOURNAL_NAME) ? 'existing' : 'create');
    const journal = await replay(file);
    await disk.syncDirectory(directory);
    return new JournalEngine(directory, journal, options);
  } catch (error) {
    await file?.close();
    throw error instanceof DiskError ? new EngineError('DISK_ERROR', error.message, { cause: error }) : error;
  }
}

async function replay(file: DiskFile): Promise<Journal> {
  const bytes = await file.read(0, await file.size());
  const map = new SortedMap();
  if (!bytes.subarray(0, JOURNAL_HEADER.length).every((byte, index) => byte === JOURNAL_HEADER[index])) {
    // A torn header has nothing behind it: the journal's first open had not finished.
    if (bytes.length > JOURNAL_HEADER.length) throw damaged(file.path, 0, 'its header is not that of a journal');
  }
  if (bytes.length <= JOURNAL_HEADER.length) {
    await file.append(0, [JOURNAL_HEADER]);
    return { file, map, end: JOURNAL_HEADER.length, sequence: 1 };
  }
  let end = JOURNAL_HEADER.length;
  let lastRecord = end;
  let sequence = 1;
  while (end < bytes.length) {
    const record = decodeRecord(bytes, end, sequence);
    if (record === undefined) break;
    if (record.sequence !== sequence) throw damaged(file.path, end, `record ${sequence} is missing`);
    for (const write of record.writes) map.apply(write);
    lastRecord = end;
    end = record.end;
    sequence += 1;
  }
  if (end < bytes.length) {
    if (hasRecordAfter(bytes, end, sequence)) throw damaged(file.path, end, 'a valid record follows an invalid one');
    // The last append was not finished, so nobody was answered. Its bytes must not pass for a later record's.
    await file.truncate(end);
    await file.sync();
  }
  // A killed process, or one that stopped at a failed append, may have left its last record in the page cache alone, where no sync
  // need write it: it is written again before anybody is answered with it.
  await file.append(lastRecord, [bytes.subarray(lastRecord, end)]);
  return { file, map, end, sequence };
}

function damaged(path: string, position: number, what: string): EngineError {
  return new EngineError('DAMAGED_DATA', `${path} is damaged at byte ${position}: ${what}; restore it from a copy`);
}

class JournalEngine implements SnapshotEngine {
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #rewriteMinBytes: number;
  readonly #map: SortedMap;
  readonly #commits: GroupCommit;
  #file: DiskFile;
  #end: number;
  #sequence: number;

  constructor(directory: string, journal: Journal, options: JournalEngineOptions) {
    this.#directory = directory;
    this.#disk = options.disk;
    this.#rewriteMinBytes = options.rewriteMinBytes ?? DEFAULT_REWRITE_MIN_BYTES;
    this.#map = journal.map;
    this.#file = journal.file;
    this.#end = journal.end;
    this.#sequence = journal.sequence;
    this.#commits = new GroupCommit({
      get: (key) => this.#map.get(key),
      persist: async (writes) => await this.#persist(writes),
      onFailure: (error) => options.onFailure?.(error),
    });
  }

  get figures(): CommitFigures {
    return this.#commits.figures;
  }

  read<T>(body: (reader: Reader) => T): T {
    this.#commits.assertUsable();
    return body(this.#map);
  }

  /** A copy, since this engine has everything in memory. */
  snapshot(): Snapshot {
    this.#commits.assertUsable();
    const copy = new SortedMap();
    for (const entry of this.#map.entries()) copy.apply(entry);
    let isOpen = true;
    return {
      read: (body) => {
        if (isOpen) this.#commits.assertUsable();
        else throw new EngineError('CLOSED', 'the snapshot was closed');
        return body(copy);
      },
      close: () => (isOpen = false),
    };
  }

  commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    return this.#commits.commit(body);
  }

  async close(): Promise<void> {
    await this.#commits.close();
    await this.#file.close();
  }

  async #persist(writes: readonly Write[]): Promise<void> {
    if (writes.length === 0) return;
    const record = encodeRecord(this.#sequence, writes);
    await this.#file.append(this.#end, [record]);
    this.#end += record.length;
    this.#sequence += 1;
    // Readers see only what is durable.
    for (const write of writes) this.#map.apply(write);
    if (this.#end >= this.#rewriteMinBytes) await this.#rewriteIfLong();
  }

  async #rewriteIfLong(): Promise<void> {
    const entries = this.#map.entries();
    const liveBytes = entries.reduce((sum, { key, value }) => sum + 8 + key.length + value.length, 0);
    if (this.#end < REWRITE_RATIO * liveBytes) return;
    const path = `${this.#directory}/${REWRITE_NAME}`;
    try {
      const file = await this.#disk.open(path, 'create');
      const record = encodeRecord(1, entries);
      await file.append(0, [JOURNAL_HEADER, record]);
      await this.#disk.rename(path, `${this.#directory}/${JOURNAL_NAME}`);
      await this.#disk.syncDirectory(this.#directory);
      const old = this.#file;
      this.#file = file;
      this.#end = JOURNAL_HEADER.length + record.length;
      this.#sequence = 2;
      await old.close();
    } catch (error) {
      throw new EngineError('DISK_ERROR', `the journal could not be rewritten: ${describeError(error)}`, {
        cause: error,
        indeterminate: true,
      });
    }
  }
}
