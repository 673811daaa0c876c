/**
 * How buckets and keys lie in an engine: `01` the format, `02 bucket` a bucket's record, `03 bucket 00 key` a key's revision
 * and size, `04 bucket 00 key` its value. Sizes lie apart from values, so that lists and sums never read values.
 */

import type { Reader } from './engines/engine.ts';
import { EngineError } from './engines/engine-error.ts';
import type { Fence } from './fence.ts';

export const FORMAT_KEY: Uint8Array = Uint8Array.of(1);
export const FORMAT_VERSION = 1;

const BUCKET_RECORD_BYTES = 34;
const RECORD_VERSION = 1;
const encoder = new TextEncoder();

export interface BucketRecord extends Fence {
  /** The revision of the bucket's last write; never falls, so that a revision names one value of a key for ever. */
  readonly revision: number;
  readonly keys: number;
  /** Of keys and values. */
  readonly bytes: number;
}

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

export function encodeBucketRecord(record: BucketRecord): Uint8Array {
  const bytes = new Uint8Array(BUCKET_RECORD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, RECORD_VERSION);
  view.setUint8(1, record.tokens === 'optional' ? 1 : 0);
  view.setBigUint64(2, BigInt(record.highest));
  view.setBigUint64(10, BigInt(record.revision));
  view.setBigUint64(18, BigInt(record.keys));
  view.setBigUint64(26, BigInt(record.bytes));
  return bytes;
}

/** Undefined where the bytes are not such a record. */
function decodeBucketRecord(bytes: Uint8Array): BucketRecord | undefined {
  if (bytes.length !== BUCKET_RECORD_BYTES || bytes[0] !== RECORD_VERSION) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    tokens: view.getUint8(1) === 1 ? 'optional' : 'required',
    highest: Number(view.getBigUint64(2)),
    revision: Number(view.getBigUint64(10)),
    keys: Number(view.getBigUint64(18)),
    bytes: Number(view.getBigUint64(26)),
  };
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
