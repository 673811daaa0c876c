/**
 * The engine in production: one LMDB environment in the data directory. A commit resolves after LMDB has written the
 * pages, called fdatasync, and written the meta page that makes them current (`overlappingSync: false`; with the library's
 * default, commits resolve and become visible before the sync). LMDB has no checksums, so every value carries one, over key
 * and value. Locking the directory is the caller's business.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';

import { open } from 'lmdb';
import type { RootDatabase, Transaction as ReadTransaction } from 'lmdb';
import type { Disk } from '@holdfast/runtime';

import type {
  CommitFigures,
  EngineOptions,
  Entry,
  KeyRange,
  Reader,
  Snapshot,
  SnapshotEngine,
  Transaction,
} from './engine.ts';
import { describeError, EngineError } from './engine-error.ts';
import { GroupCommit } from './group-commit.ts';
import type { Get, Write } from './group-commit.ts';
import { prepareLmdbFile } from './lmdb-file.ts';

/** LMDB keeps its reader table in a second file, with `-lock` after this name. */
export const LMDB_FILE_NAME = 'data.mdb';

const CRC_BYTES = 4;

type Database = RootDatabase<Uint8Array, Uint8Array>;

/** Opens the environment in `directory`, which must exist, and makes its files' names durable. Rejects with {@link EngineError}. */
export async function openLmdbEngine(
  directory: string,
  options: EngineOptions & { readonly disk: Disk },
): Promise<SnapshotEngine> {
  const path = join(directory, LMDB_FILE_NAME);
  await prepareLmdbFile(directory, LMDB_FILE_NAME, options.disk);
  let database: Database;
  try {
    database = open<Uint8Array, Uint8Array>({
      path,
      noSubdir: true,
      keyEncoding: 'binary',
      encoding: 'binary',
      cache: false,
      compression: false,
      overlappingSync: false,
      // Groups are batches already, and the library leaves the promise of its own batch's failure without a handler.
      eventTurnBatching: false,
      maxDbs: 1,
    });
  } catch (error) {
    throw openError(path, error);
  }
  await options.disk.syncDirectory(directory);
  return new LmdbEngine(database, options);
}

class LmdbEngine implements SnapshotEngine {
  readonly #database: Database;
  readonly #commits: GroupCommit;
  readonly #reader: Reader;
  readonly #snapshots = new Set<Snapshot>();

  constructor(database: Database, options: EngineOptions) {
    this.#database = database;
    this.#commits = new GroupCommit(
      async (stage) => await this.#persist(stage),
      (error) => options.onFailure?.(error),
    );
    this.#reader = { get: (key) => this.#get(key), range: (range) => this.#range(range) };
  }

  get figures(): CommitFigures {
    return this.#commits.figures;
  }

  read<T>(body: (reader: Reader) => T): T {
    this.#commits.assertUsable();
    // lmdb keeps one read transaction for several turns; a commit that has resolved must be seen.
    this.#database.resetReadTxn();
    return body(this.#reader);
  }

  snapshot(): Snapshot {
    this.#commits.assertUsable();
    this.#database.resetReadTxn();
    const transaction = this.#database.useReadTransaction();
    const reader: Reader = {
      get: (key) => this.#get(key, transaction),
      range: (range) => this.#range(range, transaction),
    };
    const snapshot: Snapshot = {
      read: (body) => {
        if (this.#snapshots.has(snapshot)) return body(reader);
        throw new EngineError('CLOSED', 'the store was closed while it was read');
      },
      close: () => {
        if (this.#snapshots.delete(snapshot)) transaction.done();
      },
    };
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    return await this.#commits.commit(body);
  }

  async close(): Promise<void> {
    await this.#commits.close();
    // LMDB must not be closed under a transaction that reads.
    for (const snapshot of this.#snapshots) snapshot.close();
    await this.#database.close();
  }

  async #persist(stage: (get: Get) => readonly Write[]): Promise<void> {
    try {
      // A child transaction, so that a write that fails half-way takes the whole group back.
      await this.#database.childTransaction(() => {
        for (const { key, value } of stage((key) => this.#get(key))) {
          if (value === undefined) this.#database.removeSync(key);
          else this.#database.putSync(key, seal(key, value));
        }
      });
    } catch (error) {
      throw await commitCause(error);
    }
  }

  #get(key: Uint8Array, transaction?: ReadTransaction): Uint8Array | undefined {
    const stored = transaction === undefined ? this.#database.getBinary(key) : this.#database.get(key, { transaction });
    return stored === undefined ? undefined : unseal(key, stored);
  }

  #range({ from, to, limit }: KeyRange, transaction?: ReadTransaction): Entry[] {
    if (limit < 1) return [];
    const within = transaction === undefined ? {} : { transaction };
    const found = [...this.#database.getRange({ start: from, end: to, limit, ...within })];
    return found.map(({ key, value }) => ({ key, value: unseal(key, value) }));
  }
}

function seal(key: Uint8Array, value: Uint8Array): Uint8Array {
  const stored = Buffer.allocUnsafe(CRC_BYTES + value.length);
  stored.writeUInt32BE(checksum(key, value));
  stored.set(value, CRC_BYTES);
  return stored;
}

function unseal(key: Uint8Array, stored: Uint8Array): Uint8Array {
  const value = stored.subarray(CRC_BYTES);
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength);
  const whole = stored.length >= CRC_BYTES && isChecksum(view.getUint32(0), key, value);
  if (!whole) {
    const name = Buffer.from(key).toString('latin1');
    throw new EngineError(
      'DAMAGED_DATA',
      `the record ${JSON.stringify(name)} is not what was written; restore the data from a copy`,
    );
  }
  return value;
}

/** Of no bytes zlib says 0, and not what came before, where the array has no memory of its own: as that of a body without content has. */
function checksum(key: Uint8Array, value: Uint8Array): number {
  return value.length === 0 ? crc32(key) : crc32(value, crc32(key));
}

/** An empty value may have been written with 0 by a build that did not know of that. */
function isChecksum(stored: number, key: Uint8Array, value: Uint8Array): boolean {
  return stored === checksum(key, value) || (value.length === 0 && stored === 0);
}

/** lmdb rejects with a general error that carries a promise which rejects with the reason. */
async function commitCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (reason) {
    return reason;
  }
}

function openError(path: string, cause: unknown): EngineError {
  const reason = describeError(cause);
  const damaged = /MDB_(INVALID|CORRUPTED|VERSION_MISMATCH|PAGE_NOTFOUND|PANIC)|not an LMDB file|corrupt/i.test(reason);
  return damaged
    ? new EngineError('DAMAGED_DATA', `${path} is not a usable LMDB file (${reason}); restore it from a copy`, {
        cause,
      })
    : new EngineError('DISK_ERROR', `${path} cannot be opened (${reason}); check the file's permissions and the disk`, {
        cause,
      });
}
