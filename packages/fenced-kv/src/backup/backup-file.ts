/**
 * The file of a backup: a header with the version of the format, then records, each with a CRC-32 that goes on from the one before it, and
 * an end that counts them. So a record that is damaged, missing or in another place is found, and so is a file that was cut.
 *
 *     clock, then for each bucket: bucket, then for each of its keys: key, then its value in pieces; end
 */

import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';

import type { DiskFile } from '@holdfast/runtime';

import { decodeBucketRecord, encodeBucketRecord } from '../bucket-record.ts';
import type { BucketRecord } from '../bucket-record.ts';
import { decodeKeyRecord, encodeKeyRecord } from '../keyspace.ts';
import type { KeyRecord } from '../keyspace.ts';
import { MAX_INLINE_VALUE_BYTES, MAX_KEY_BYTES } from '../limits.ts';
import { assertBucketName } from '../name.ts';

export type BackupRecord =
  /** A time that has come, by the store's clock. */
  | { readonly type: 'clock'; readonly ms: number }
  | { readonly type: 'bucket'; readonly bucket: string; readonly record: BucketRecord }
  /** Of the last bucket. */
  | { readonly type: 'key'; readonly key: Uint8Array; readonly record: KeyRecord }
  /** The next bytes of the last key's value. */
  | { readonly type: 'value'; readonly bytes: Uint8Array };

/** The file is not a whole backup of a version that this program reads. Nothing was changed. */
export class BackupError extends Error {
  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
    this.name = 'BackupError';
  }
}

const BACKUP_VERSION = 1;

const MAGIC: Uint8Array = new TextEncoder().encode('fenced-kv-backup');
const HEADER_BYTES = 20;
const TYPE = { clock: 1, bucket: 2, key: 3, value: 4, end: 5 } as const;
const HEAD_BYTES = 5;
const CRC_BYTES = 4;
const MAX_BODY_BYTES = MAX_INLINE_VALUE_BYTES;
/** Written and read at once. */
const BUFFER_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/** Where the bytes of a backup go, one after the other. */
export type BackupSink = Pick<DiskFile, 'write' | 'sync'>;

export class BackupWriter {
  readonly #sink: BackupSink;
  #position = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #crc: number;
  #records = 0;

  constructor(sink: BackupSink) {
    this.#sink = sink;
    const header = headerOf(BACKUP_VERSION);
    this.#crc = crc32(header);
    this.#push(header);
  }

  async add(record: BackupRecord): Promise<void> {
    await this.#write(TYPE[record.type], bodyOf(record));
    this.#records += 1;
  }

  /** Resolves when all of it is durable. */
  async end(): Promise<void> {
    await this.#write(TYPE.end, numberBytes(this.#records));
    await this.#flush();
    await this.#sink.sync();
  }

  async #write(type: number, body: Uint8Array): Promise<void> {
    const head = new Uint8Array(HEAD_BYTES);
    const view = new DataView(head.buffer);
    view.setUint8(0, type);
    view.setUint32(1, body.length);
    this.#crc = crc32(body, crc32(head, this.#crc));
    const tail = new Uint8Array(CRC_BYTES);
    new DataView(tail.buffer).setUint32(0, this.#crc);
    for (const part of [head, body, tail]) this.#push(part);
    if (this.#waitingBytes >= BUFFER_BYTES) await this.#flush();
  }

  #push(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#sink.write(this.#position, bytes);
    this.#position += bytes.length;
  }
}

/** The records in their order. Throws {@link BackupError} at the first that is not as it was written, or is where it cannot be. */
export async function* readBackup(file: DiskFile): AsyncGenerator<BackupRecord> {
  const source = new ByteSource(file);
  const header = await source.take(HEADER_BYTES);
  if (header === undefined || !MAGIC.every((byte, index) => header[index] === byte)) {
    throw new BackupError(file.path, 'is not a backup of fenced-kvd; name a file that fenced-kvd backup has written');
  }
  const version = viewOf(header).getUint32(MAGIC.length);
  if (version !== BACKUP_VERSION) {
    throw new BackupError(
      file.path,
      `has version ${version}, and this program reads version ${BACKUP_VERSION}; restore it with a program of the version that wrote it`,
    );
  }
  const order = new RecordOrder(file.path);
  let crc = crc32(header);
  for (let records = 0; ; records += 1) {
    const { type, body, crc: next } = await readRecord(source, crc);
    crc = next;
    if (type === TYPE.end) {
      if (body.length !== 8 || numberOf(body) !== records || !order.complete || !(await source.atEnd())) {
        throw damaged(file.path, source.position);
      }
      return;
    }
    const record = recordOf(type, body);
    if (record === undefined) throw damaged(file.path, source.position);
    order.next(record, source.position);
    yield record;
  }
}

/** That a key is of a bucket, and a value as long as its key says. */
class RecordOrder {
  readonly #path: string;
  #inBucket = false;
  #missingBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get complete(): boolean {
    return this.#missingBytes === 0;
  }

  next(record: BackupRecord, position: number): void {
    if (record.type === 'value') {
      if (record.bytes.length === 0 || record.bytes.length > this.#missingBytes) throw damaged(this.#path, position);
      this.#missingBytes -= record.bytes.length;
      return;
    }
    if (this.#missingBytes > 0) throw damaged(this.#path, position);
    if (record.type === 'bucket') this.#inBucket = true;
    if (record.type !== 'key') return;
    const { largeValue, valueBytes } = record.record;
    // What the store never writes in one piece, nor in none.
    const possible = largeValue === undefined ? valueBytes <= MAX_INLINE_VALUE_BYTES : valueBytes > 0;
    if (!this.#inBucket || !possible) throw damaged(this.#path, position);
    this.#missingBytes = valueBytes;
  }
}

/** A file from its beginning to its end, some of it in memory. */
class ByteSource {
  readonly #file: DiskFile;
  #buffer: Uint8Array = new Uint8Array(0);
  #readTo = 0;
  #position = 0;

  constructor(file: DiskFile) {
    this.#file = file;
  }

  get path(): string {
    return this.#file.path;
  }

  get position(): number {
    return this.#position;
  }

  /** Undefined where the file has no so many any more. */
  async take(count: number): Promise<Uint8Array | undefined> {
    while (this.#buffer.length < count) {
      const more = await this.#file.read(this.#readTo, BUFFER_BYTES);
      if (more.length === 0) return undefined;
      this.#readTo += more.length;
      this.#buffer = Buffer.concat([this.#buffer, more]);
    }
    const taken = new Uint8Array(this.#buffer.subarray(0, count));
    this.#buffer = this.#buffer.subarray(count);
    this.#position += count;
    return taken;
  }

  async atEnd(): Promise<boolean> {
    return this.#buffer.length === 0 && (await this.#file.read(this.#readTo, 1)).length === 0;
  }
}

async function readRecord(
  source: ByteSource,
  before: number,
): Promise<{ readonly type: number; readonly body: Uint8Array; readonly crc: number }> {
  const head = await source.take(HEAD_BYTES);
  if (head === undefined) throw cut(source.path, source.position);
  const length = viewOf(head).getUint32(1);
  if (length > MAX_BODY_BYTES) throw damaged(source.path, source.position);
  const body = await source.take(length);
  const tail = await source.take(CRC_BYTES);
  if (body === undefined || tail === undefined) throw cut(source.path, source.position);
  const crc = crc32(body, crc32(head, before));
  if (viewOf(tail).getUint32(0) !== crc) throw damaged(source.path, source.position);
  return { type: viewOf(head).getUint8(0), body, crc };
}

function bodyOf(record: BackupRecord): Uint8Array {
  switch (record.type) {
    case 'clock':
      return numberBytes(record.ms);
    case 'bucket':
      return named(encoder.encode(record.bucket), encodeBucketRecord(record.record));
    case 'key':
      return named(record.key, encodeKeyRecord(record.record));
    case 'value':
      return record.bytes;
  }
}

function recordOf(type: number, body: Uint8Array): BackupRecord | undefined {
  switch (type) {
    case TYPE.clock:
      return body.length === 8 ? { type: 'clock', ms: numberOf(body) } : undefined;
    case TYPE.bucket: {
      const [name, rest] = unnamed(body);
      const bucket = bucketNameOf(name);
      const record = decodeBucketRecord(rest);
      return record === undefined || bucket === undefined ? undefined : { type: 'bucket', bucket, record };
    }
    case TYPE.key: {
      const [key, rest] = unnamed(body);
      const record = decodeKeyRecord(rest);
      const possible = key.length > 0 && key.length <= MAX_KEY_BYTES && isUtf8(key);
      // A value has records of its own.
      const isKey = record !== undefined && record.value === undefined;
      return isKey && possible ? { type: 'key', key, record } : undefined;
    }
    case TYPE.value:
      return { type: 'value', bytes: body };
    default:
      return undefined;
  }
}

/** Undefined for what no bucket is called: a checksum keeps no stranger from writing it. */
function bucketNameOf(bytes: Uint8Array): string | undefined {
  const name = Buffer.from(bytes).toString('latin1');
  try {
    assertBucketName(name);
    return name;
  } catch {
    return undefined;
  }
}

function named(name: Uint8Array, rest: Uint8Array): Uint8Array {
  const body = new Uint8Array(2 + name.length + rest.length);
  new DataView(body.buffer).setUint16(0, name.length);
  body.set(name, 2);
  body.set(rest, 2 + name.length);
  return body;
}

function unnamed(body: Uint8Array): readonly [Uint8Array, Uint8Array] {
  const end = body.length < 2 ? 0 : 2 + viewOf(body).getUint16(0);
  return [body.slice(2, end), body.slice(end)];
}

function headerOf(version: number): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES);
  header.set(MAGIC);
  new DataView(header.buffer).setUint32(MAGIC.length, version);
  return header;
}

function numberBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

function numberOf(bytes: Uint8Array): number {
  return Number(viewOf(bytes).getBigUint64(0));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function cut(path: string, position: number): BackupError {
  return new BackupError(path, `was cut: it ends at byte ${position} and has no end; take another backup`);
}

function damaged(path: string, position: number): BackupError {
  return new BackupError(path, `is damaged before byte ${position}; take another backup`);
}
