/**
 * How buckets and keys lie in an engine: `01` the format, `02 bucket` a bucket's record, `03 bucket 00 key` a key's revision
 * and size, with a short value behind them, `04 bucket 00 key` a longer value, `05 number chunk` a chunk of a large value, `06` the number
 * of the next one, `07 number` one that no key has, `08 time bucket 00 key` when a key expires, `09` a time that has come. A write of a
 * short value is one record; longer values lie apart from sizes, so that lists do not read them.
 */

import { decodeBucketRecord } from './bucket-record.ts';
import type { BucketRecord } from './bucket-record.ts';
import type { Reader } from './engines/engine.ts';
import { EngineError } from './engines/engine-error.ts';
import { readUint32, readUint64, writeUint32, writeUint64 } from './integers.ts';

export const FORMAT_KEY: Uint8Array = Uint8Array.of(1);
/**
 * 2: records of buckets may have fields, and values lie in chunks. 3: a key's record may have its value. A program of an earlier version
 * refuses it, as it must.
 */
export const FORMAT_VERSION = 3;
/** What this version reads as it is, and marks with its own version when it opens it. */
const OLDEST_FORMAT_VERSION = 1;

/** In the format's place while a restore is under way: what is there is neither the old data nor the new. No version reads it. */
export const RESTORING = 0xff;

/** Revision and length. A byte that says what follows comes behind them, where something does. */
const PLAIN_KEY_RECORD_BYTES = 12;
const HAS_LARGE_VALUE = 1;
const EXPIRES = 2;
const HAS_VALUE = 4;
/** Bytes of a value that lies in its key's record. Several such records have room in a page of LMDB, and a list reads them. */
export const MAX_RECORD_VALUE_BYTES = 1024;
const encoder = new TextEncoder();

export interface KeyRecord {
  readonly revision: number;
  readonly valueBytes: number;
  /** The value itself; undefined: it lies apart. */
  readonly value?: Uint8Array | undefined;
  /** The number of a value in chunks; undefined: it is in one piece. */
  readonly largeValue?: number | undefined;
  /** From when on it is absent, by the store's clock; undefined: never. */
  readonly expiresAtMs?: number | undefined;
}

export function bucketKey(bucket: string): Uint8Array {
  const key = Buffer.allocUnsafe(1 + bucket.length);
  key[0] = 2;
  putName(key, 1, bucket);
  return key;
}

/** What {@link bucketKey} was made of. */
export function bucketOfKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(1)).toString('latin1');
}

export function bucketRange(): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: Uint8Array.of(2), to: Uint8Array.of(3) };
}

export function recordKey(bucket: string, key: Uint8Array): Uint8Array {
  return keyIn(3, bucket, key);
}

export function valueKey(bucket: string, key: Uint8Array): Uint8Array {
  return keyIn(4, bucket, key);
}

function keyIn(space: number, bucket: string, key: Uint8Array): Uint8Array {
  const whole = Buffer.allocUnsafe(2 + bucket.length + key.length);
  whole[0] = space;
  putName(whole, 1, bucket);
  whole[1 + bucket.length] = 0;
  whole.set(key, 2 + bucket.length);
  return whole;
}

/** The name of a bucket has one byte a character. */
function putName(bytes: Uint8Array, start: number, bucket: string): void {
  for (let at = 0; at < bucket.length; at += 1) bytes[start + at] = bucket.charCodeAt(at);
}

/** The key's text out of what {@link recordKey} made. */
export function keyOfRecord(bucket: string, recordKeyBytes: Uint8Array): string {
  return Buffer.from(recordKeyBytes).toString('utf8', encoder.encode(bucket).length + 2);
}

/** The same, as bytes. */
export function keyBytesOfRecord(bucket: string, recordKeyBytes: Uint8Array): Uint8Array {
  return new Uint8Array(recordKeyBytes.subarray(encoder.encode(bucket).length + 2));
}

/** The records of the keys that begin with `prefix` and, where `after` is given, come after it. */
export function recordRange(
  bucket: string,
  prefix: Uint8Array,
  after: Uint8Array | undefined,
): { readonly from: Uint8Array; readonly to: Uint8Array } {
  const start = recordKey(bucket, prefix);
  // No UTF-8 contains the byte ff, so every key with the prefix comes before prefix + ff.
  const to = join(3, encoder.encode(bucket), Uint8Array.of(0), prefix, Uint8Array.of(0xff));
  if (after === undefined) return { from: start, to };
  const behind = join(3, encoder.encode(bucket), Uint8Array.of(0), after, Uint8Array.of(0));
  return { from: Buffer.compare(behind, start) > 0 ? behind : start, to };
}

/** Without anything special it is what the first version wrote. The value, where it is given, has `valueBytes`. */
export function encodeKeyRecord({ revision, valueBytes, value, largeValue, expiresAtMs }: KeyRecord): Uint8Array {
  const flags =
    (largeValue === undefined ? 0 : HAS_LARGE_VALUE) |
    (expiresAtMs === undefined ? 0 : EXPIRES) |
    (value === undefined ? 0 : HAS_VALUE);
  const length = flags === 0 ? PLAIN_KEY_RECORD_BYTES : valueAt(flags) + (value?.length ?? 0);
  const bytes = Buffer.allocUnsafe(length);
  writeUint64(bytes, 0, revision);
  writeUint32(bytes, 8, valueBytes);
  if (flags === 0) return bytes;
  bytes[PLAIN_KEY_RECORD_BYTES] = flags;
  if (largeValue !== undefined) writeUint64(bytes, EXTRAS_AT, largeValue);
  if (expiresAtMs !== undefined) writeUint64(bytes, expiryAt(flags), expiresAtMs);
  if (value !== undefined) bytes.set(value, valueAt(flags));
  return bytes;
}

/** Undefined where the bytes are not such a record. Its value is a part of them. */
export function decodeKeyRecord(bytes: Uint8Array): KeyRecord | undefined {
  if (bytes.length < PLAIN_KEY_RECORD_BYTES) return undefined;
  const plain = { revision: readUint64(bytes, 0), valueBytes: readUint32(bytes, 8) };
  const flags = bytes[PLAIN_KEY_RECORD_BYTES];
  if (flags === undefined) return plain;
  const large = (flags & HAS_LARGE_VALUE) !== 0;
  const expires = (flags & EXPIRES) !== 0;
  const here = (flags & HAS_VALUE) !== 0;
  const isKnown = flags > 0 && flags <= (HAS_LARGE_VALUE | EXPIRES | HAS_VALUE) && !(large && here);
  if (!isKnown || bytes.length !== valueAt(flags) + (here ? plain.valueBytes : 0)) return undefined;
  return {
    ...plain,
    value: here ? bytes.subarray(valueAt(flags)) : undefined,
    largeValue: large ? readUint64(bytes, EXTRAS_AT) : undefined,
    expiresAtMs: expires ? readUint64(bytes, expiryAt(flags)) : undefined,
  };
}

const EXTRAS_AT = PLAIN_KEY_RECORD_BYTES + 1;

function expiryAt(flags: number): number {
  return (flags & HAS_LARGE_VALUE) === 0 ? EXTRAS_AT : EXTRAS_AT + 8;
}

function valueAt(flags: number): number {
  return (flags & EXPIRES) === 0 ? expiryAt(flags) : expiryAt(flags) + 8;
}

/** In the order of the times. */
export function expiryKey(expiresAtMs: number, bucket: string, key: Uint8Array): Uint8Array {
  return join(8, encodeTime(expiresAtMs), encoder.encode(bucket), Uint8Array.of(0), key);
}

/** What {@link expiryKey} was made of. */
export function decodeExpiryKey(bytes: Uint8Array): {
  readonly expiresAtMs: number;
  readonly bucket: string;
  readonly key: Uint8Array;
} {
  const end = bytes.indexOf(0, 9);
  return {
    expiresAtMs: decodeTime(bytes.subarray(1, 9)),
    bucket: Buffer.from(bytes.subarray(9, end)).toString('latin1'),
    key: bytes.slice(end + 1),
  };
}

/** Of what has expired at that time. */
export function expiredRange(nowMs: number): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: Uint8Array.of(8), to: join(8, encodeTime(nowMs + 1)) };
}

export const CLOCK_KEY: Uint8Array = Uint8Array.of(9);

export function encodeTime(ms: number): Uint8Array {
  const bytes = new Uint8Array(8);
  writeUint64(bytes, 0, ms);
  return bytes;
}

export function decodeTime(bytes: Uint8Array): number {
  if (bytes.length !== 8) throw damaged('a time cannot be read');
  return readUint64(bytes, 0);
}

export function chunkKey(number: number, index: number): Uint8Array {
  const key = new Uint8Array(13);
  key[0] = 5;
  writeUint64(key, 1, number);
  writeUint32(key, 9, index);
  return key;
}

export const LARGE_VALUE_NUMBERS_KEY: Uint8Array = Uint8Array.of(6);

export function looseKey(number: number): Uint8Array {
  const key = new Uint8Array(9);
  key[0] = 7;
  writeUint64(key, 1, number);
  return key;
}

export function looseNumberOf(key: Uint8Array): number {
  return readUint64(key, 1);
}

export function looseRange(): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: Uint8Array.of(7), to: Uint8Array.of(8) };
}

export function loadBucket(reader: Pick<Reader, 'get'>, bucket: string): BucketRecord | undefined {
  const bytes = reader.get(bucketKey(bucket));
  if (bytes === undefined) return undefined;
  const record = decodeBucketRecord(bytes);
  if (record === undefined) throw damaged(`the record of bucket "${bucket}" cannot be read`);
  return record;
}

export function loadKey(reader: Pick<Reader, 'get'>, bucket: string, key: Uint8Array): KeyRecord | undefined {
  const bytes = reader.get(recordKey(bucket, key));
  if (bytes === undefined) return undefined;
  const record = decodeKeyRecord(bytes);
  if (record === undefined) throw damaged(`the record of a key in bucket "${bucket}" cannot be read`);
  return record;
}

/** The same, where it has not expired. */
export function liveKey(
  reader: Pick<Reader, 'get'>,
  bucket: string,
  key: Uint8Array,
  nowMs: number,
): KeyRecord | undefined {
  const record = loadKey(reader, bucket, key);
  return record === undefined || isExpired(record, nowMs) ? undefined : record;
}

export function isExpired({ expiresAtMs }: KeyRecord, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

/** Undefined is the format of an empty engine. @throws EngineError where this version does not read it */
export function assertFormat(format: Uint8Array | undefined): void {
  if (format === undefined) return;
  const version = format.length === 1 ? (format[0] ?? 0) : 0;
  if (version >= OLDEST_FORMAT_VERSION && version <= FORMAT_VERSION) return;
  if (version === RESTORING) {
    throw new EngineError(
      'DAMAGED_DATA',
      'a restore into this data was not finished; run fenced-kvd restore again, with the same backup',
    );
  }
  const known = `this version reads ${OLDEST_FORMAT_VERSION} to ${FORMAT_VERSION}`;
  throw new EngineError(
    'DAMAGED_DATA',
    `the data has format ${format.join('.')}, ${known}; start the version that wrote it`,
  );
}

export function damaged(what: string): EngineError {
  return new EngineError('DAMAGED_DATA', `${what}; restore the data directory from a copy`);
}

function join(space: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 1));
  bytes[0] = space;
  let position = 1;
  for (const part of parts) {
    bytes.set(part, position);
    position += part.length;
  }
  return bytes;
}
