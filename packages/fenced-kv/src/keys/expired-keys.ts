/** Keys whose time to live is over, and their removal: nobody sees them any more, and each bucket's revision rises as by a write. */

import { encodeBucketRecord } from '../bucket-record.ts';
import type { BucketRecord } from '../bucket-record.ts';
import type { BucketRevision, Change } from '../changes/revision.ts';
import type { Reader, Transaction } from '../engines/engine.ts';
import { bucketKey, damaged, decodeExpiryKey, expiredRange, loadBucket, loadKey } from '../keyspace.ts';
import { applyWrite } from './key-write.ts';
import type { WriteDeps } from './key-write.ts';

export type ExpiredKey = ReturnType<typeof decodeExpiryKey>;

export interface RemovalDeps extends WriteDeps {
  readonly changed: (revision: BucketRevision) => void;
}

/** The first of them, in the order of their times. */
export function expiredKeys(reader: Reader, nowMs: number, limit: number): ExpiredKey[] {
  return reader.range({ ...expiredRange(nowMs), limit }).map(({ key }) => decodeExpiryKey(key));
}

/** Within one commit. @throws EngineError DAMAGED_DATA */
export function removeExpiredKeys(
  transaction: Transaction,
  found: readonly ExpiredKey[],
  { nowMs, loosen, changed }: RemovalDeps,
): void {
  const raised = new Map<string, BucketRecord>();
  const removed = new Map<string, Change[]>();
  for (const { expiresAtMs, bucket, key } of found) {
    // Somebody may have written it since.
    if (loadKey(transaction, bucket, key)?.expiresAtMs !== expiresAtMs) continue;
    const before = raised.get(bucket) ?? loadBucket(transaction, bucket);
    if (before === undefined) throw damaged(`bucket "${bucket}" has keys and no record`);
    const revision = raised.has(bucket) ? before.revision : before.revision + 1;
    const write = { key: '', keyBytes: key, value: undefined };
    raised.set(bucket, applyWrite(transaction, bucket, { ...before, revision }, write, { nowMs, loosen }));
    const changes = removed.get(bucket) ?? [];
    changes.push({ type: 'expired', key: Buffer.from(key).toString() });
    removed.set(bucket, changes);
  }
  for (const [bucket, record] of raised) {
    transaction.put(bucketKey(bucket), encodeBucketRecord(record));
    changed({ bucket, revision: record.revision, changes: removed.get(bucket) ?? [] });
  }
}
