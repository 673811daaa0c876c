/**
 * What a write asks for: its limits, which are checked before anything is looked at, its conditions, and what it changes. Which
 * token it needs, and that a batch is one step, is the store's business.
 */

import type { BucketRecord } from '../bucket-record.ts';
import type { Transaction } from '../engines/engine.ts';
import {
  encodeKeyRecord,
  expiryKey,
  liveKey,
  loadKey,
  MAX_RECORD_VALUE_BYTES,
  recordKey,
  valueKey,
} from '../keyspace.ts';
import { fasten } from './large-values.ts';
import type { LargeValue } from './large-values.ts';
import { MAX_BATCH_BYTES, MAX_BATCH_WRITES, MAX_INLINE_VALUE_BYTES, MAX_TTL_MS, MIN_TTL_MS } from '../limits.ts';
import { encodeKey } from '../name.ts';
import { holds } from './precondition.ts';
import type { Precondition } from './precondition.ts';
import { invalidArgument, limitExceeded } from '../refusal.ts';
import type { Refusal } from '../refusal.ts';

const NOTHING = new Uint8Array(0);

export interface KeyWrite {
  readonly key: string;
  /** Undefined: the key is deleted; no error where it is absent. A large value was uploaded before. */
  readonly value: Uint8Array | LargeValue | undefined;
  readonly conditions?: readonly Precondition[];
  /** After so many milliseconds the key is absent, until it is written again. @default never */
  readonly ttlMs?: number | undefined;
}

export interface EncodedWrite extends KeyWrite {
  readonly keyBytes: Uint8Array;
}

export function checkWrites(writes: readonly KeyWrite[]): EncodedWrite[] {
  if (writes.length === 0) throw invalidArgument('writes', 'a batch has at least one write');
  if (writes.length > MAX_BATCH_WRITES) {
    throw limitExceeded(
      'writes',
      MAX_BATCH_WRITES,
      `a batch has at most ${MAX_BATCH_WRITES} writes; this one has ${writes.length}`,
    );
  }
  const seen = writes.length === 1 ? undefined : new Set<string>();
  let bytes = 0;
  const encoded = writes.map((write) => {
    if (seen?.has(write.key) === true)
      throw invalidArgument('writes', `key "${write.key}" is written twice in one batch`);
    seen?.add(write.key);
    if (write.ttlMs !== undefined) assertTtl(write);
    const valueBytes = write.value instanceof Uint8Array ? write.value.length : 0;
    if (valueBytes > MAX_INLINE_VALUE_BYTES) {
      throw limitExceeded(
        'value',
        MAX_INLINE_VALUE_BYTES,
        `a value that is written in one piece has at most ${MAX_INLINE_VALUE_BYTES} bytes; that of key "${write.key}" has ` +
          `${valueBytes}: write it by a PUT of its own`,
      );
    }
    const keyBytes = encodeKey(write.key);
    bytes += keyBytes.length + valueBytes;
    return { ...write, keyBytes };
  });
  if (bytes > MAX_BATCH_BYTES) {
    throw limitExceeded(
      'writes',
      MAX_BATCH_BYTES,
      `keys and values of a batch have at most ${MAX_BATCH_BYTES} bytes; these have ${bytes}`,
    );
  }
  return encoded;
}

function assertTtl({ key, value, ttlMs }: KeyWrite): void {
  if (value === undefined) throw invalidArgument('ttlMs', `key "${key}" is deleted, so it has no ttlMs`);
  if (Number.isInteger(ttlMs) && Number(ttlMs) >= MIN_TTL_MS && Number(ttlMs) <= MAX_TTL_MS) return;
  throw invalidArgument(
    'ttlMs',
    `ttlMs ${String(ttlMs)} is not a time to live: an integer of milliseconds from ${MIN_TTL_MS} to ${MAX_TTL_MS}`,
  );
}

/** Why the batch is refused. Each key occurs once, so that no write changes what another's condition looks at. */
export function failedCondition(
  transaction: Transaction,
  bucket: string,
  writes: readonly EncodedWrite[],
  nowMs: number,
): Refusal | undefined {
  for (const { key, keyBytes, conditions } of writes) {
    if (conditions === undefined || conditions.length === 0) continue;
    const revision = liveKey(transaction, bucket, keyBytes, nowMs)?.revision;
    if (conditions.every((condition) => holds(condition, revision))) continue;
    return { code: 'PRECONDITION_FAILED', key, revision: revision ?? null };
  }
  return undefined;
}

export interface WriteDeps {
  readonly nowMs: number;
  /** A large value that no key has any more. */
  readonly loosen: (value: LargeValue) => void;
}

/** Writes one key and returns the bucket's record with the sums brought up to date. */
export function applyWrite(
  transaction: Transaction,
  bucket: string,
  record: BucketRecord,
  { keyBytes, value, ttlMs }: EncodedWrite,
  { nowMs, loosen }: WriteDeps,
): BucketRecord {
  const before = loadKey(transaction, bucket, keyBytes);
  const bytesBefore = before === undefined ? 0 : keyBytes.length + before.valueBytes;
  const keysBefore = before === undefined ? 0 : 1;
  const recordName = recordKey(bucket, keyBytes);
  if (before?.expiresAtMs !== undefined) transaction.delete(expiryKey(before.expiresAtMs, bucket, keyBytes));
  if (before?.largeValue !== undefined) loosen({ number: before.largeValue, bytes: before.valueBytes });
  const liesApart = value instanceof Uint8Array && value.length > MAX_RECORD_VALUE_BYTES;
  const layApart = before !== undefined && before.value === undefined && before.largeValue === undefined;
  if (layApart && !liesApart) transaction.delete(valueKey(bucket, keyBytes));
  if (value === undefined) {
    if (before !== undefined) transaction.delete(recordName);
    return { ...record, keys: record.keys - keysBefore, bytes: record.bytes - bytesBefore };
  }
  const { revision } = record;
  const expiresAtMs = ttlMs === undefined ? undefined : nowMs + ttlMs;
  if (expiresAtMs !== undefined) transaction.put(expiryKey(expiresAtMs, bucket, keyBytes), NOTHING);
  let valueBytes: number;
  if (value instanceof Uint8Array) {
    valueBytes = value.length;
    const here = liesApart ? undefined : value;
    transaction.put(recordName, encodeKeyRecord({ revision, valueBytes, expiresAtMs, value: here }));
    if (liesApart) transaction.put(valueKey(bucket, keyBytes), value);
  } else {
    valueBytes = value.bytes;
    transaction.put(recordName, encodeKeyRecord({ revision, valueBytes, largeValue: value.number, expiresAtMs }));
    fasten(transaction, value);
  }
  return {
    ...record,
    keys: record.keys - keysBefore + 1,
    bytes: record.bytes - bytesBefore + keyBytes.length + valueBytes,
  };
}
