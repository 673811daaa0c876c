/**
 * The snapshot files of one log's directory: finds the newest that is whole, writes new ones (to a temporary file in slices, synced
 * piece by piece, then renamed), reads them, and removes those that nobody needs any more.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { MalformedError } from '@holdfast/protocol';
import { DiskError, type Disk, type DiskFile } from '@holdfast/runtime';
import { invariant, logIndex, term, type LogIndex, type LogPosition } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { DamagedSnapshotError } from '../errors/damaged-snapshot-error.ts';
import { DataDirectoryError } from '../errors/data-directory-error.ts';
import type { LogIdentity } from '../format/frame.ts';
import { IdentityMismatchError } from '../errors/identity-mismatch-error.ts';
import {
  CHUNK_HEADER_BYTES,
  chunkPosition,
  decodeHeader,
  decodeTrailer,
  encodeChunkHeader,
  encodeHeader,
  encodeTrailer,
  fileLength,
  headerLength,
  isChunk,
  SNAPSHOT_FIXED_BYTES,
  TRAILER_BYTES,
  UnsupportedSnapshotError,
  type DecodedHeader,
} from './snapshot-format.ts';
import {
  bytesOf,
  isNewer,
  type SnapshotInfo,
  type SnapshotMeta,
  type SnapshotSink,
  type SnapshotSource,
} from '../contract/snapshot.ts';

const DEFAULT_SNAPSHOT_CHUNK_BYTES = 256 * 1024;
/** So much is on its way to the disk at most before it is synced. A burst at the end would hold up the log's own writes. */
const SYNC_BYTES = 2 * 1024 * 1024;
const SUFFIX = '.snapshot';
const TEMPORARY_SUFFIX = '.snapshot.tmp';
const PATTERN = /^(\d{16})-(\d{16})\.snapshot$/;
const DIGITS = 16;

export interface SnapshotName extends LogPosition {
  readonly path: string;
}

export interface SnapshotFilesOptions extends LogIdentity {
  readonly directory: string;
  readonly snapshotChunkBytes?: number;
  /** A snapshot that would leave less room on the disk finds none: the log needs it for its next segment. */
  readonly reserveBytes: number;
}

/** By index, the oldest first. A name that no snapshot has is not one. */
export async function listSnapshots(directory: string, disk: Disk): Promise<SnapshotName[]> {
  const found: SnapshotName[] = [];
  for (const name of await disk.list(directory)) {
    const match = PATTERN.exec(name);
    const [index, position] = [Number(match?.[1]), Number(match?.[2])];
    if (match === null || !Number.isSafeInteger(index) || !Number.isSafeInteger(position)) continue;
    found.push({ path: join(directory, name), index: logIndex(index), term: term(position) });
  }
  return found;
}

export class SnapshotFiles {
  readonly #options: SnapshotFilesOptions;
  readonly #disk: Disk;
  readonly #chunkBytes: number;
  #newest: { readonly info: SnapshotInfo; readonly path: string } | undefined;
  #temporaries = 0;

  constructor(options: SnapshotFilesOptions, disk: Disk) {
    this.#options = options;
    this.#disk = disk;
    this.#chunkBytes = options.snapshotChunkBytes ?? DEFAULT_SNAPSHOT_CHUNK_BYTES;
  }

  get newest(): SnapshotInfo | undefined {
    return this.#newest?.info;
  }

  /** A start found it whole. */
  found(info: SnapshotInfo, path: string): void {
    this.#newest = { info, path };
  }

  async create(meta: SnapshotMeta): Promise<SnapshotSink> {
    const { directory, clusterId, serverId, incarnation } = this.#options;
    this.#temporaries += 1;
    const temporary = join(directory, `${this.#temporaries}${TEMPORARY_SUFFIX}`);
    const target = join(directory, snapshotFileName(meta));
    const encoded = encodeHeader({ ...meta, clusterId, serverId, incarnation, chunkBytes: this.#chunkBytes });
    await this.#requireRoom(temporary);
    const file = await this.#disk.open(temporary, 'create');
    return new FileSink(file, decodeHeader(encoded), {
      begin: () => file.write(0, encoded),
      commit: async (info) => {
        await this.#disk.rename(temporary, target);
        await this.#disk.syncDirectory(directory);
        if (isNewer(info, this.newest)) this.#newest = { info, path: target };
      },
      open: () => openSnapshot(temporary, this.#options, this.#disk),
      requireRoom: () => this.#requireRoom(temporary),
      discard: () => removeIfThere(temporary, this.#disk),
    });
  }

  async openNewest(): Promise<SnapshotSource | undefined> {
    return this.#newest === undefined ? undefined : openSnapshot(this.#newest.path, this.#options, this.#disk);
  }

  /** All but the newest, and but those that a log from `firstIndex` on could go on from, were the newest lost. */
  async prune(firstIndex: LogIndex): Promise<void> {
    const { directory } = this.#options;
    const newest = this.newest;
    if (newest === undefined) return;
    const older = (await listSnapshots(directory, this.#disk)).filter(({ index }) => index < newest.index);
    const spare = older.at(-1);
    for (const snapshot of older) {
      if (snapshot === spare && snapshot.index >= firstIndex - 1) continue;
      await removeIfThere(snapshot.path, this.#disk);
    }
  }

  async #requireRoom(path: string): Promise<void> {
    const { directory, reserveBytes } = this.#options;
    const freeBytes = await this.#disk.freeBytes(directory);
    if (freeBytes >= reserveBytes + SYNC_BYTES) return;
    throw new DiskError(
      'NO_SPACE',
      path,
      `the disk of ${directory} has ${freeBytes} bytes free, and a snapshot leaves ${reserveBytes} for the log: free space there`,
    );
  }

  async removeTemporaries(): Promise<void> {
    const { directory } = this.#options;
    for (const name of await this.#disk.list(directory)) {
      if (name.endsWith(TEMPORARY_SUFFIX)) await removeIfThere(join(directory, name), this.#disk);
    }
  }
}

/** @throws DamagedLogError, DataDirectoryError of a later format, IdentityMismatchError, DiskError */
async function openSnapshot(path: string, identity: LogIdentity, disk: Disk): Promise<SnapshotSource> {
  const file = await disk.open(path, 'existing');
  try {
    const { header, info } = await readEnds(file, identity);
    return new FileSource(file, header, info);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** How much of a snapshot is read to tell whether it is one: everything, or what stands before and behind the machine's bytes. */
export type SnapshotCheck = 'whole' | 'ends';

/** @throws DamagedLogError, DataDirectoryError of a later format, IdentityMismatchError, DiskError */
export async function verifySnapshot(
  { path, index, term: position }: SnapshotName,
  identity: LogIdentity,
  disk: Disk,
  check: SnapshotCheck = 'whole',
): Promise<SnapshotInfo> {
  const source = await openSnapshot(path, identity, disk);
  try {
    const { info } = source;
    if (info.index !== index || info.term !== position) {
      throw new DamagedLogError(path, 0, `it is the snapshot of index ${info.index} in term ${info.term}`);
    }
    if (check === 'whole') for await (const _ of bytesOf(source));
    return info;
  } finally {
    await source.close();
  }
}

interface SinkEnds {
  begin(): Promise<void>;
  commit(info: SnapshotInfo): Promise<void>;
  /** What was written, before it has its name. */
  open(): Promise<SnapshotSource>;
  /** Rejects with DiskError NO_SPACE. */
  requireRoom(): Promise<void>;
  discard(): Promise<void>;
}

class FileSink implements SnapshotSink {
  bytes = 0;
  readonly #file: DiskFile;
  readonly #header: DecodedHeader;
  readonly #ends: SinkEnds;
  /** The one that is being filled, with room for its header: the disk has taken it before the next begins. */
  readonly #chunk: Uint8Array;
  readonly #data: Uint8Array;
  #filled = 0;
  #chunks = 0;
  #crc = 0;
  #unsyncedBytes = 0;
  #sealed: SnapshotInfo | undefined;
  #over = false;

  constructor(file: DiskFile, header: DecodedHeader, ends: SinkEnds) {
    this.#file = file;
    this.#header = header;
    this.#ends = ends;
    this.#chunk = new Uint8Array(CHUNK_HEADER_BYTES + header.chunkBytes);
    this.#data = this.#chunk.subarray(CHUNK_HEADER_BYTES);
  }

  async write(bytes: Uint8Array): Promise<void> {
    invariant(!this.#over && this.#sealed === undefined, 'a-snapshot-that-is-over-is-not-written');
    this.bytes += bytes.length;
    this.#crc = crc32(bytes, this.#crc);
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + this.#data.length - this.#filled);
      this.#data.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === this.#data.length) await this.#writeChunk();
    }
  }

  async seal(): Promise<SnapshotSource> {
    await this.#writeEnd();
    return this.#ends.open();
  }

  async finish(): Promise<SnapshotInfo> {
    const info = this.#sealed ?? (await this.#writeEnd());
    this.#over = true;
    await this.#ends.commit(info);
    return info;
  }

  async abort(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    if (this.#sealed === undefined) await this.#file.close();
    await this.#ends.discard();
  }

  async #writeEnd(): Promise<SnapshotInfo> {
    invariant(!this.#over && this.#sealed === undefined, 'a-snapshot-that-is-over-is-not-written');
    if (this.#filled > 0) await this.#writeChunk();
    const { index, term: position, origin, configuration } = this.#header;
    const info: SnapshotInfo = { index, term: position, origin, configuration, bytes: this.bytes, crc: this.#crc };
    if (this.#chunks === 0) await this.#ends.begin();
    await this.#file.write(
      fileLength(this.#header, info.bytes) - TRAILER_BYTES,
      encodeTrailer(info, this.#header.seed),
    );
    await this.#file.sync();
    this.#sealed = info;
    await this.#file.close();
    return info;
  }

  async #writeChunk(): Promise<void> {
    const data = this.#data.subarray(0, this.#filled);
    const offset = this.#chunks * this.#header.chunkBytes;
    const position = chunkPosition(this.#header, this.#chunks);
    if (this.#chunks === 0) await this.#ends.begin();
    this.#chunks += 1;
    this.#filled = 0;
    const bytes = this.#chunk.subarray(0, CHUNK_HEADER_BYTES + data.length);
    bytes.set(encodeChunkHeader(data, offset, this.#header.seed));
    await this.#file.write(position, bytes);
    this.#unsyncedBytes += bytes.length;
    if (this.#unsyncedBytes < SYNC_BYTES) return;
    this.#unsyncedBytes = 0;
    await this.#file.sync();
    await this.#ends.requireRoom();
  }
}

class FileSource implements SnapshotSource {
  readonly info: SnapshotInfo;
  readonly path: string;
  readonly #file: DiskFile;
  readonly #header: DecodedHeader;

  constructor(file: DiskFile, header: DecodedHeader, info: SnapshotInfo) {
    this.#file = file;
    this.#header = header;
    this.info = info;
    this.path = file.path;
  }

  get roomBytes(): number {
    return CHUNK_HEADER_BYTES + Math.min(this.#header.chunkBytes, this.info.bytes);
  }

  async read(offset: number, room?: Uint8Array): Promise<Uint8Array> {
    const { chunkBytes, seed } = this.#header;
    const chunk = Math.floor(offset / chunkBytes);
    const begin = chunk * chunkBytes;
    const length = Math.min(chunkBytes, this.info.bytes - begin);
    if (length <= 0) return new Uint8Array(0);
    const position = chunkPosition(this.#header, chunk);
    const bytes = await this.#file.read(position, CHUNK_HEADER_BYTES + length, room);
    if (!isChunk(bytes, length, begin, seed)) {
      throw new DamagedSnapshotError(this.path, position, 'the checksum of a chunk is wrong');
    }
    return bytes.subarray(CHUNK_HEADER_BYTES + offset - begin);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function readEnds(
  file: DiskFile,
  identity: LogIdentity,
): Promise<{ readonly header: DecodedHeader; readonly info: SnapshotInfo }> {
  const { path } = file;
  try {
    const length = headerLength(await file.read(0, SNAPSHOT_FIXED_BYTES));
    const header = decodeHeader(await file.read(0, length));
    if (header.clusterId !== identity.clusterId || header.serverId !== identity.serverId) {
      throw new IdentityMismatchError(path, header, identity);
    }
    if (header.incarnation !== identity.incarnation) {
      throw new MalformedError(
        `it belongs to incarnation ${header.incarnation}, the directory to ${identity.incarnation}`,
      );
    }
    const size = await file.size();
    const { bytes, crc } = decodeTrailer(
      await file.read(Math.max(0, size - TRAILER_BYTES), TRAILER_BYTES),
      header.seed,
    );
    if (fileLength(header, bytes) !== size) throw new MalformedError(`it has ${size} bytes for ${bytes} of data`);
    const { index, term: position, origin, configuration } = header;
    return { header, info: { index, term: position, origin, configuration, bytes, crc } };
  } catch (error) {
    if (error instanceof UnsupportedSnapshotError) {
      const reason = `${path}: ${error.message}: start the version of the program that wrote it`;
      throw new DataDirectoryError('UNSUPPORTED_FORMAT', path, reason, { cause: error });
    }
    if (error instanceof MalformedError) throw new DamagedLogError(path, 0, error.message);
    throw error;
  }
}

function snapshotFileName({ index, term: position }: LogPosition): string {
  return `${String(index).padStart(DIGITS, '0')}-${String(position).padStart(DIGITS, '0')}${SUFFIX}`;
}

async function removeIfThere(path: string, disk: Disk): Promise<void> {
  try {
    await disk.remove(path);
  } catch (error) {
    if (!(error instanceof DiskError && error.code === 'NOT_FOUND')) throw error;
  }
}
