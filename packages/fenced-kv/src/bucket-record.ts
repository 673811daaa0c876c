/**
 * A bucket's record: four numbers, and behind them fields that only some buckets have, each a tag, a length and its bytes. Without
 * fields it is what the first version wrote. A tag that this version does not know is not skipped: who wrote it relies on it.
 */

import { NEW_FENCE } from './fence.ts';
import type { Fence } from './fence.ts';
import { readUint64, writeUint64 } from './integers.ts';

export interface BucketRecord extends Fence {
  /** The revision of the bucket's last write; never falls, so that a revision names one value of a key for ever. */
  readonly revision: number;
  readonly keys: number;
  /** Of keys and values. */
  readonly bytes: number;
  /** The lock at the ensemble whose tokens it takes, fixed for its life; undefined: whatever it is told. */
  readonly lock?: string | undefined;
}

export const NEW_BUCKET: BucketRecord = { ...NEW_FENCE, revision: 0, keys: 0, bytes: 0 };

const BASE_BYTES = 34;
const WITHOUT_FIELDS = 1;
const WITH_FIELDS = 2;
const FIELD_HEADER_BYTES = 3;
const TAG = { lock: 1 } as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

export function encodeBucketRecord(record: BucketRecord): Uint8Array {
  const fields = record.lock === undefined ? NO_FIELDS : fieldsOf(record.lock);
  const length = fields.reduce((sum, { bytes }) => sum + FIELD_HEADER_BYTES + bytes.length, BASE_BYTES);
  const encoded = Buffer.allocUnsafe(length);
  encoded[0] = fields.length === 0 ? WITHOUT_FIELDS : WITH_FIELDS;
  encoded[1] = record.tokens === 'optional' ? 1 : 0;
  writeUint64(encoded, 2, record.highest);
  writeUint64(encoded, 10, record.revision);
  writeUint64(encoded, 18, record.keys);
  writeUint64(encoded, 26, record.bytes);
  let position = BASE_BYTES;
  for (const { tag, bytes } of fields) {
    encoded[position] = tag;
    encoded.writeUInt16BE(bytes.length, position + 1);
    encoded.set(bytes, position + FIELD_HEADER_BYTES);
    position += FIELD_HEADER_BYTES + bytes.length;
  }
  return encoded;
}

/** Undefined where the bytes are not such a record. */
export function decodeBucketRecord(bytes: Uint8Array): BucketRecord | undefined {
  if (bytes.length < BASE_BYTES) return undefined;
  const version = bytes[0];
  if (version !== WITH_FIELDS && !(version === WITHOUT_FIELDS && bytes.length === BASE_BYTES)) return undefined;
  const base: BucketRecord = {
    tokens: bytes[1] === 1 ? 'optional' : 'required',
    highest: readUint64(bytes, 2),
    revision: readUint64(bytes, 10),
    keys: readUint64(bytes, 18),
    bytes: readUint64(bytes, 26),
  };
  let record: BucketRecord | undefined = base;
  let position = BASE_BYTES;
  while (record !== undefined && position < bytes.length) {
    if (position + FIELD_HEADER_BYTES > bytes.length) return undefined;
    const start = position + FIELD_HEADER_BYTES;
    const end = start + uint16At(bytes, position + 1);
    if (end > bytes.length) return undefined;
    record = withField(record, bytes[position] ?? 0, bytes.subarray(start, end));
    position = end;
  }
  return record;
}

function uint16At(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

interface Field {
  readonly tag: number;
  readonly bytes: Uint8Array;
}

const NO_FIELDS: readonly Field[] = [];

function fieldsOf(lock: string): readonly Field[] {
  return [{ tag: TAG.lock, bytes: encoder.encode(lock) }];
}

function withField(record: BucketRecord, tag: number, bytes: Uint8Array): BucketRecord | undefined {
  if (tag !== TAG.lock) return undefined;
  try {
    return { ...record, lock: decoder.decode(bytes) };
  } catch {
    return undefined; // not UTF-8
  }
}
