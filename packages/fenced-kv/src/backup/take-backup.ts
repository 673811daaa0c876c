/** All that a store has, as the records of a backup: buckets with their fences, keys that have not been removed, and values. */

import { bucketNames } from '../bucket-names.ts';
import type { Readable } from '../engines/engine.ts';
import {
  chunkKey,
  CLOCK_KEY,
  damaged,
  decodeKeyRecord,
  decodeTime,
  keyBytesOfRecord,
  loadBucket,
  recordRange,
  valueKey,
} from '../keyspace.ts';
import type { KeyRecord } from '../keyspace.ts';
import { VALUE_CHUNK_BYTES } from '../limits.ts';
import type { BackupRecord } from './backup-file.ts';

export interface BackupCounts {
  readonly buckets: number;
  readonly keys: number;
}

interface RawKey {
  readonly key: Uint8Array;
  readonly record: KeyRecord;
}

const AT_A_TIME = 256;
const EMPTY = new Uint8Array(0);

/** Of a state that does not change meanwhile. Rejects with {@link EngineError} where something is damaged, and with what `add` rejects with. */
export async function takeBackup(state: Readable, add: (record: BackupRecord) => Promise<void>): Promise<BackupCounts> {
  const clock = state.read((reader) => reader.get(CLOCK_KEY));
  if (clock !== undefined) await add({ type: 'clock', ms: decodeTime(clock) });
  let buckets = 0;
  let keys = 0;
  for (const bucket of bucketNames(state)) {
    const record = state.read((reader) => loadBucket(reader, bucket));
    if (record === undefined) throw damaged(`bucket "${bucket}" is listed and has no record`);
    await add({ type: 'bucket', bucket, record });
    buckets += 1;
    let found = 0;
    for (const raw of keysOf(state, bucket)) {
      // The value comes behind it, wherever it lies here.
      await add({ type: 'key', key: raw.key, record: { ...raw.record, value: undefined } });
      for (const bytes of valueOf(state, bucket, raw)) await add({ type: 'value', bytes });
      found += 1;
    }
    if (found !== record.keys) throw damaged(`bucket "${bucket}" has ${found} keys, and counts ${record.keys}`);
    keys += found;
  }
  return { buckets, keys };
}

function* keysOf(state: Readable, bucket: string): Generator<RawKey> {
  let after: Uint8Array | undefined;
  for (;;) {
    const range = { ...recordRange(bucket, EMPTY, after), limit: AT_A_TIME };
    const page = state.read((reader) => reader.range(range));
    for (const entry of page) {
      const key = keyBytesOfRecord(bucket, entry.key);
      const record = decodeKeyRecord(entry.value);
      if (record === undefined) throw damaged(`the record of a key in bucket "${bucket}" cannot be read`);
      yield { key, record };
      after = key;
    }
    if (page.length < AT_A_TIME) return;
  }
}

function* valueOf(state: Readable, bucket: string, { key, record }: RawKey): Generator<Uint8Array> {
  const { largeValue, valueBytes } = record;
  if (largeValue === undefined) {
    const apart = (): Uint8Array | undefined => state.read((reader) => reader.get(valueKey(bucket, key)));
    const value = record.value === undefined ? apart() : new Uint8Array(record.value);
    if (value?.length !== valueBytes) throw damaged(`a value in bucket "${bucket}" is not the one that was written`);
    if (valueBytes > 0) yield value;
    return;
  }
  for (let index = 0; index * VALUE_CHUNK_BYTES < valueBytes; index += 1) {
    const chunk = state.read((reader) => reader.get(chunkKey(largeValue, index)));
    const expected = Math.min(VALUE_CHUNK_BYTES, valueBytes - index * VALUE_CHUNK_BYTES);
    if (chunk?.length !== expected) throw damaged(`chunk ${index} of a value in bucket "${bucket}" is not as written`);
    yield chunk;
  }
}
