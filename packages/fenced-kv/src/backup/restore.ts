/**
 * Writes what a backup has into a store. It never lowers a fence: a bucket that is there keeps its highest floor where that is higher, and what
 * it is (tokens, lock) for life. Its keys and values become those of the backup, as if one batch had written them: under a revision that
 * the bucket has not had, so that nobody's older `ETag` or place in the changes passes for one of now. Buckets that the backup does not
 * have stay as they are. Until all of it is written the store is marked: no server opens it, and the same restore may be run again.
 */

import { encodeBucketRecord, NEW_BUCKET } from '../bucket-record.ts';
import type { BucketRecord } from '../bucket-record.ts';
import type { Engine, Transaction } from '../engines/engine.ts';
import { applyWrite } from '../keys/key-write.ts';
import { LargeValues } from '../keys/large-values.ts';
import type { LargeValue, ValueUpload } from '../keys/large-values.ts';
import {
  assertFormat,
  bucketKey,
  CLOCK_KEY,
  decodeTime,
  encodeTime,
  FORMAT_KEY,
  FORMAT_VERSION,
  keyBytesOfRecord,
  loadBucket,
  recordRange,
  RESTORING,
} from '../keyspace.ts';
import type { KeyRecord } from '../keyspace.ts';
import { VALUE_CHUNK_BYTES } from '../limits.ts';
import type { BackupCounts } from './take-backup.ts';
import type { BackupRecord } from './backup-file.ts';

export interface RestoreCounts extends BackupCounts {
  /** Buckets whose fence was higher than that of the backup, and stayed. */
  readonly keptFences: number;
}

/** Keys of one commit, unless their values take as much as below. */
const KEYS_A_COMMIT = 256;
const BYTES_A_COMMIT = 4 * 1024 * 1024;
const EMPTY = new Uint8Array(0);

/**
 * `records` are those of a backup that was read to its end before: what is not whole must not be begun with. Rejects with
 * {@link EngineError}.
 */
export async function restoreBackup(engine: Engine, records: AsyncIterable<BackupRecord>): Promise<RestoreCounts> {
  await engine.commit((transaction) => {
    const format = transaction.get(FORMAT_KEY);
    if (format?.[0] !== RESTORING) assertFormat(format);
    transaction.put(FORMAT_KEY, Uint8Array.of(RESTORING));
  });
  const largeValues = new LargeValues(engine);
  await largeValues.sweep();
  const restore = new Restore(engine, largeValues);
  for await (const record of records) await restore.add(record);
  const counts = await restore.end();
  await engine.commit((transaction) => transaction.put(FORMAT_KEY, Uint8Array.of(FORMAT_VERSION)));
  return counts;
}

interface Pending {
  readonly key: Uint8Array;
  readonly record: KeyRecord;
  readonly value: Uint8Array | LargeValue;
}

class Restore {
  readonly #engine: Engine;
  readonly #largeValues: LargeValues;
  #bucket = '';
  #record: BucketRecord = NEW_BUCKET;
  #incoming: IncomingKey | undefined;
  #pending: Pending[] = [];
  #pendingBytes = 0;
  /** Of pending values: theirs once the commit is durable. */
  #uploads: ValueUpload[] = [];
  #buckets = 0;
  #keys = 0;
  #keptFences = 0;

  constructor(engine: Engine, largeValues: LargeValues) {
    this.#engine = engine;
    this.#largeValues = largeValues;
  }

  async add(record: BackupRecord): Promise<void> {
    if (record.type === 'value') {
      await this.#incoming?.add(record.bytes);
      return;
    }
    await this.#endKey();
    switch (record.type) {
      case 'clock':
        await this.#engine.commit((transaction) => {
          const stored = transaction.get(CLOCK_KEY);
          const ms = Math.max(record.ms, stored === undefined ? 0 : decodeTime(stored));
          transaction.put(CLOCK_KEY, encodeTime(ms));
        });
        break;
      case 'bucket':
        await this.#commitPending();
        await this.#beginBucket(record.bucket, record.record);
        break;
      case 'key':
        this.#incoming = new IncomingKey(record.key, record.record, () => this.#largeValues.upload());
        break;
    }
  }

  async end(): Promise<RestoreCounts> {
    await this.#endKey();
    await this.#commitPending();
    return { buckets: this.#buckets, keys: this.#keys, keptFences: this.#keptFences };
  }

  /** The fence first, then the keys that were there go. */
  async #beginBucket(bucket: string, backup: BucketRecord): Promise<void> {
    this.#bucket = bucket;
    this.#buckets += 1;
    this.#record = await this.#engine.commit((transaction) => {
      const present = loadBucket(transaction, bucket);
      const kind = present ?? backup;
      const after: BucketRecord = {
        ...(present ?? NEW_BUCKET),
        tokens: kind.tokens,
        lock: kind.lock,
        highest: Math.max(present?.highest ?? 0, backup.highest),
        revision: Math.max(present?.revision ?? 0, backup.revision) + 1,
      };
      if (present !== undefined && present.highest > backup.highest) this.#keptFences += 1;
      transaction.put(bucketKey(bucket), encodeBucketRecord(after));
      return after;
    });
    while (await this.#removeSome());
  }

  async #removeSome(): Promise<boolean> {
    const bucket = this.#bucket;
    const range = { ...recordRange(bucket, EMPTY, undefined), limit: KEYS_A_COMMIT };
    const found = this.#engine.read((reader) => reader.range(range));
    if (found.length === 0) return false;
    const loosened: LargeValue[] = [];
    await this.#change((transaction, before) => {
      let after = before;
      const loosen = (value: LargeValue): void => {
        this.#largeValues.loosen(transaction, value);
        loosened.push(value);
      };
      for (const entry of found) {
        const write = { key: '', keyBytes: keyBytesOfRecord(bucket, entry.key), value: undefined };
        after = applyWrite(transaction, bucket, after, write, { nowMs: 0, loosen });
      }
      return after;
    });
    await this.#largeValues.loosened(loosened);
    return true;
  }

  async #endKey(): Promise<void> {
    const incoming = this.#incoming;
    if (incoming === undefined) return;
    this.#incoming = undefined;
    const { value, upload } = await incoming.end();
    if (upload !== undefined) this.#uploads.push(upload);
    this.#pending.push({ key: incoming.key, record: incoming.record, value });
    this.#pendingBytes += value instanceof Uint8Array ? value.length : 0;
    this.#keys += 1;
    const full = this.#pending.length >= KEYS_A_COMMIT || this.#pendingBytes >= BYTES_A_COMMIT;
    // Few large values may be on their way at once.
    if (full || this.#uploads.length > 0) await this.#commitPending();
  }

  async #commitPending(): Promise<void> {
    const pending = this.#pending;
    const uploads = this.#uploads;
    if (pending.length === 0) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#uploads = [];
    await this.#change((transaction, before) => {
      let after = before;
      for (const { key, record, value } of pending) {
        // From the time 0, the time to live is the time at which it expires.
        const write = { key: '', keyBytes: key, value, ttlMs: record.expiresAtMs };
        after = applyWrite(transaction, this.#bucket, after, write, { nowMs: 0, loosen() {} });
      }
      return after;
    });
    for (const upload of uploads) await upload.used();
  }

  /** One commit, with the bucket's record as it leaves it. */
  async #change(work: (transaction: Transaction, before: BucketRecord) => BucketRecord): Promise<void> {
    const before = this.#record;
    this.#record = await this.#engine.commit((transaction) => {
      const after = work(transaction, before);
      transaction.put(bucketKey(this.#bucket), encodeBucketRecord(after));
      return after;
    });
  }
}

/** A key whose value comes piece by piece: a large one goes to the disk as it comes. */
class IncomingKey {
  readonly key: Uint8Array;
  readonly record: KeyRecord;
  readonly #upload: ValueUpload | undefined;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(key: Uint8Array, record: KeyRecord, beginUpload: () => ValueUpload) {
    this.key = key;
    this.record = record;
    this.#upload = record.largeValue === undefined ? undefined : beginUpload();
  }

  async add(piece: Uint8Array): Promise<void> {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#upload !== undefined) await this.#flush(this.#upload, VALUE_CHUNK_BYTES);
  }

  async end(): Promise<{ readonly value: Uint8Array | LargeValue; readonly upload: ValueUpload | undefined }> {
    if (this.#upload === undefined) return { value: Buffer.concat(this.#pieces), upload: undefined };
    await this.#flush(this.#upload, 1);
    return { value: this.#upload.value, upload: this.#upload };
  }

  /** Writes chunks while at least `least` bytes are there. */
  async #flush(upload: ValueUpload, least: number): Promise<void> {
    while (this.#bytes >= least) {
      const all = Buffer.concat(this.#pieces);
      await upload.append(Uint8Array.from(all.subarray(0, VALUE_CHUNK_BYTES)));
      const rest = Uint8Array.from(all.subarray(VALUE_CHUNK_BYTES));
      this.#pieces = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
    }
  }
}
