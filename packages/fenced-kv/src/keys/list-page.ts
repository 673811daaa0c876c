/** A page of a bucket's keys: bounded by their number and by their bytes, whichever comes first. */

import type { Reader } from '../engines/engine.ts';
import { damaged, decodeKeyRecord, isExpired, keyOfRecord, recordRange } from '../keyspace.ts';
import { DEFAULT_LIST_LIMIT, MAX_LIST_KEY_BYTES, MAX_LIST_LIMIT } from '../limits.ts';
import { encodeKey } from '../name.ts';
import { invalidArgument } from '../refusal.ts';
import type { ListedKey, ListOptions, ListPage } from '../store-types.ts';

interface ListRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly limit: number;
}

const EMPTY = new Uint8Array(0);

/** @throws RefusedError */
export function listRange(bucket: string, { prefix = '', after, limit = DEFAULT_LIST_LIMIT }: ListOptions): ListRange {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_LIMIT) {
    throw invalidArgument('limit', `limit is an integer from 1 to ${MAX_LIST_LIMIT}`);
  }
  const range = recordRange(
    bucket,
    prefix === '' ? EMPTY : encodeKey(prefix),
    after === undefined ? undefined : encodeKey(after),
  );
  return { ...range, limit };
}

export function readPage(reader: Reader, bucket: string, { from, to, limit }: ListRange, nowMs: number): ListPage {
  const entries = reader.range({ from, to, limit: limit + 1 });
  const keys: ListedKey[] = [];
  let keyBytes = 0;
  let seen = 0;
  let next: string | null = null;
  for (const entry of entries) {
    keyBytes += entry.key.length;
    if (seen === limit || (keyBytes > MAX_LIST_KEY_BYTES && seen > 0)) break;
    const key = keyOfRecord(bucket, entry.key);
    const record = decodeKeyRecord(entry.value);
    if (record === undefined) throw damaged(`the record of key "${key}" in bucket "${bucket}" cannot be read`);
    seen += 1;
    next = key;
    if (isExpired(record, nowMs)) continue;
    const { revision, valueBytes: bytes, expiresAtMs } = record;
    keys.push({ key, revision, bytes, ...(expiresAtMs === undefined ? {} : { expiresInMs: expiresAtMs - nowMs }) });
  }
  return { keys, next: entries.length > seen ? next : null };
}
