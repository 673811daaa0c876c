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
import type { Write } from './group-commit.ts';
import { readUint32 } from '../integers.ts';
import { prepareLmdbFile } from './lmdb-file.ts';

/** LMDB keeps its reader table in a second file, with `-lock` after this name. */
export const LMDB_FILE_NAME = 'data.mdb';

const CRC_BYTES = 4;
/** Room that is kept for the values of a group; one that needs more gets its own. */
const ROOM_BYTES = 256 * 1024;
/** Bytes of a key that LMDB takes, with pages of 4 KiB. */
const MAX_LMDB_KEY_BYTES = 1_978;

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
  /** Where the values of the group under way lie until lmdb has them. */
  #room: Buffer = Buffer.alloc(ROOM_BYTES);

  constructor(database: Database, options: EngineOptions) {
    this.#database = database;
    this.#commits = new GroupCommit({
      get: (key) => this.#get(key),
      persist: async (writes) => await this.#persist(writes),
      onFailure: (error) => options.onFailure?.(error),
    });
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

  commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    return this.#commits.commit(body);
  }

  async close(): Promise<void> {
    await this.#commits.close();
    // LMDB must not be closed under a transaction that reads.
    for (const snapshot of this.#snapshots) snapshot.close();
    await this.#database.close();
  }

  /** LMDB's own thread makes the writes, in one transaction: where one of them fails, it takes all of them back. */
  async #persist(writes: readonly Write[]): Promise<void> {
    if (writes.length === 0) return;
    const length = sealedLength(writes);
    // A group at a time is under way, so nobody else is using it. A large one has a room of its own.
    const sealed = sealAll(writes, length > this.#room.length ? Buffer.allocUnsafeSlow(length) : this.#room);
    try {
      await this.#database.batch(() => {
        for (const { key, stored } of sealed) {
          if (stored === undefined) void this.#database.remove(key);
          else void this.#database.put(key, stored);
        }
      });
    } catch (error) {
      throw await commitCause(error);
    }
    // What is read from now on has them: lmdb keeps one read transaction for several turns.
    this.#database.resetReadTxn();
  }

  #get(key: Uint8Array, transaction?: ReadTransaction): Uint8Array | undefined {
    if (transaction !== undefined) {
      const stored = this.#database.get(key, { transaction });
      return stored === undefined ? undefined : unseal(key, stored);
    }
    // What this gives is only lent, and saves memory of its own for each short record.
    const lent = this.#database.getBinaryFast(key);
    return lent === undefined ? undefined : unseal(key, copyOf(lent));
  }

  #range({ from, to, limit }: KeyRange, transaction?: ReadTransaction): Entry[] {
    if (limit < 1) return [];
    const within = transaction === undefined ? {} : { transaction };
    const found = [...this.#database.getRange({ start: from, end: to, limit, ...within })];
    return found.map(({ key, value }) => ({ key, value: unseal(key, value) }));
  }
}

interface SealedWrite {
  readonly key: Uint8Array;
  readonly stored: Uint8Array | undefined;
}

function sealedLength(writes: readonly Write[]): number {
  let length = 0;
  for (const { value } of writes) if (value !== undefined) length += CRC_BYTES + value.length;
  return length;
}

/** All of them before the first is given to lmdb, which would keep those before one that it does not take. */
function sealAll(writes: readonly Write[], room: Buffer): readonly SealedWrite[] {
  let end = 0;
  return writes.map(({ key, value }) => {
    assertStorable(key);
    if (value === undefined) return { key, stored: undefined };
    const start = end;
    end += CRC_BYTES + value.length;
    room.writeUInt32BE(checksum(key, value), start);
    room.set(value, start + CRC_BYTES);
    return { key, stored: room.subarray(start, end) };
  });
}

function assertStorable(key: Uint8Array): void {
  if (key.length >= 1 && key.length <= MAX_LMDB_KEY_BYTES) return;
  throw new RangeError(`a key of ${key.length} bytes cannot be stored; LMDB takes 1 to ${MAX_LMDB_KEY_BYTES}`);
}

/** lmdb says by `length` how much of its room the value takes. */
function copyOf(lent: Buffer): Uint8Array {
  const own = Buffer.allocUnsafe(lent.length);
  own.set(lent.subarray(0, own.length));
  return own;
}

function unseal(key: Uint8Array, stored: Uint8Array): Uint8Array {
  const value = stored.subarray(CRC_BYTES);
  const whole = stored.length >= CRC_BYTES && isChecksum(readUint32(stored, 0), key, value);
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
