/**
 * How buckets and keys lie in an engine: `01` the format, `02 bucket` a bucket's record, `03 bucket 00 key` a key's revision
 * and size, `04 bucket 00 key` its value. Sizes lie apart from values, so that lists and sums never read values.
 */

import { decodeBucketRecord } from './bucket-record.ts';
import type { BucketRecord } from './bucket-record.ts';
import type { Reader } from './engines/engine.ts';
import { EngineError } from './engines/engine-error.ts';

export const FORMAT_KEY: Uint8Array = Uint8Array.of(1);
/** 2: records of buckets may have fields. A program of the first version refuses it, as it must. */
export const FORMAT_VERSION = 2;
/** What this version reads as it is, and marks with its own version when it opens it. */
export const OLDEST_FORMAT_VERSION = 1;

const encoder = new TextEncoder();

export interface KeyRecord {
  readonly revision: number;
  readonly valueBytes: number;
}

export function bucketKey(bucket: string): Uint8Array {
  return join(2, encoder.encode(bucket));
}

export function recordKey(bucket: string, key: Uint8Array): Uint8Array {
  return join(3, encoder.encode(bucket), Uint8Array.of(0), key);
}

export function valueKey(bucket: string, key: Uint8Array): Uint8Array {
  return join(4, encoder.encode(bucket), Uint8Array.of(0), key);
}

/** The key's text out of what {@link recordKey} made. */
export function keyOfRecord(bucket: string, recordKeyBytes: Uint8Array): string {
  return Buffer.from(recordKeyBytes).toString('utf8', encoder.encode(bucket).length + 2);
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

export function encodeKeyRecord(record: KeyRecord): Uint8Array {
  const bytes = new Uint8Array(12);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(record.revision));
  view.setUint32(8, record.valueBytes);
  return bytes;
}

export function decodeKeyRecord(bytes: Uint8Array): KeyRecord | undefined {
  if (bytes.length !== 12) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { revision: Number(view.getBigUint64(0)), valueBytes: view.getUint32(8) };
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
