/**
 * A bucket's record: four numbers, and behind them fields that only some buckets have, each a tag, a length and its bytes. Without
 * fields it is what the first version wrote. A tag that this version does not know is not skipped: who wrote it relies on it.
 */

import { NEW_FENCE } from './fence.ts';
import type { Fence } from './fence.ts';

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
  const fields = fieldsOf(record);
  const length = fields.reduce((sum, { bytes }) => sum + FIELD_HEADER_BYTES + bytes.length, BASE_BYTES);
  const encoded = new Uint8Array(length);
  const view = new DataView(encoded.buffer);
  view.setUint8(0, fields.length === 0 ? WITHOUT_FIELDS : WITH_FIELDS);
  view.setUint8(1, record.tokens === 'optional' ? 1 : 0);
  view.setBigUint64(2, BigInt(record.highest));
  view.setBigUint64(10, BigInt(record.revision));
  view.setBigUint64(18, BigInt(record.keys));
  view.setBigUint64(26, BigInt(record.bytes));
  let position = BASE_BYTES;
  for (const { tag, bytes } of fields) {
    view.setUint8(position, tag);
    view.setUint16(position + 1, bytes.length);
    encoded.set(bytes, position + FIELD_HEADER_BYTES);
    position += FIELD_HEADER_BYTES + bytes.length;
  }
  return encoded;
}

/** Undefined where the bytes are not such a record. */
export function decodeBucketRecord(bytes: Uint8Array): BucketRecord | undefined {
  if (bytes.length < BASE_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint8(0);
  if (version !== WITH_FIELDS && !(version === WITHOUT_FIELDS && bytes.length === BASE_BYTES)) return undefined;
  const base: BucketRecord = {
    tokens: view.getUint8(1) === 1 ? 'optional' : 'required',
    highest: Number(view.getBigUint64(2)),
    revision: Number(view.getBigUint64(10)),
    keys: Number(view.getBigUint64(18)),
    bytes: Number(view.getBigUint64(26)),
  };
  let record: BucketRecord | undefined = base;
  let position = BASE_BYTES;
  while (record !== undefined && position < bytes.length) {
    if (position + FIELD_HEADER_BYTES > bytes.length) return undefined;
    const start = position + FIELD_HEADER_BYTES;
    const end = start + view.getUint16(position + 1);
    if (end > bytes.length) return undefined;
    record = withField(record, view.getUint8(position), bytes.subarray(start, end));
    position = end;
  }
  return record;
}

function fieldsOf({ lock }: BucketRecord): { readonly tag: number; readonly bytes: Uint8Array }[] {
  return lock === undefined ? [] : [{ tag: TAG.lock, bytes: encoder.encode(lock) }];
}

function withField(record: BucketRecord, tag: number, bytes: Uint8Array): BucketRecord | undefined {
  if (tag !== TAG.lock) return undefined;
  try {
    return { ...record, lock: decoder.decode(bytes) };
  } catch {
    return undefined; // not UTF-8
  }
}
