/**
 * Buckets of keys behind a fence, over an {@link Engine}. Every write is one commit of the engine in which the token is
 * judged, then the conditions, then everything is written, the highest token with it: all of it or nothing, durable when
 * the promise resolves. Refusals are {@link RefusedError}s.
 */

import type { Engine, Reader, Transaction } from './engine.ts';
import { EngineError } from './engine-error.ts';
import { judgeInstall, judgeRead, judgeWrite, NEW_FENCE } from './fence.ts';
import {
  bucketKey,
  decodeBucketRecord,
  decodeKeyRecord,
  encodeBucketRecord,
  encodeKeyRecord,
  FORMAT_KEY,
  FORMAT_VERSION,
  keyOfRecord,
  recordKey,
  recordRange,
  valueKey,
} from './keyspace.ts';
import type { BucketRecord, KeyRecord } from './keyspace.ts';
import { DEFAULT_LIST_LIMIT, MAX_BATCH_BYTES, MAX_BATCH_WRITES, MAX_LIST_LIMIT, MAX_VALUE_BYTES } from './limits.ts';
import { assertBucketName, assertToken, encodeKey } from './name.ts';
import { holds } from './precondition.ts';
import type { Precondition } from './precondition.ts';
import { invalidArgument, limitExceeded, RefusedError } from './refusal.ts';
import type { TokenPolicy } from './refusal.ts';

export interface KeyWrite {
  readonly key: string;
  /** Undefined: the key is deleted; no error where it is absent. */
  readonly value: Uint8Array | undefined;
  readonly conditions?: readonly Precondition[];
}

export interface TokenOption {
  readonly token?: number | undefined;
}

export interface Found {
  readonly value: Uint8Array;
  readonly revision: number;
}

export interface ListOptions extends TokenOption {
  readonly prefix?: string | undefined;
  /** Only keys after this one. */
  readonly after?: string | undefined;
  /** @default 100 */
  readonly limit?: number | undefined;
}

export interface ListPage {
  readonly keys: readonly { readonly key: string; readonly revision: number; readonly bytes: number }[];
  /** What to pass as `after` for the next page; null at the end. */
  readonly next: string | null;
}

export interface BucketInfo {
  readonly bucket: string;
  readonly tokens: TokenPolicy;
  /** 0 while no token was installed. */
  readonly highest: number;
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
}

const NEW_BUCKET: BucketRecord = { ...NEW_FENCE, revision: 0, keys: 0, bytes: 0 };
const EMPTY = new Uint8Array(0);

export class FencedStore {
  readonly #engine: Engine;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Checks that the engine's data is of this format, or marks an empty engine with it. Rejects with DAMAGED_DATA. */
  static async open(engine: Engine): Promise<FencedStore> {
    await engine.commit((transaction) => {
      const format = transaction.get(FORMAT_KEY);
      if (format === undefined) transaction.put(FORMAT_KEY, Uint8Array.of(FORMAT_VERSION));
      else if (format.length !== 1 || format[0] !== FORMAT_VERSION) {
        throw new EngineError(
          'DAMAGED_DATA',
          `the data has format ${format.join('.')}, this version reads ${FORMAT_VERSION}; start the version that wrote it`,
        );
      }
    });
    return new FencedStore(engine);
  }

  /** All writes or none, under one token; they share one revision. */
  async write(bucket: string, writes: readonly KeyWrite[], { token }: TokenOption = {}): Promise<{ revision: number }> {
    assertBucketName(bucket);
    if (token !== undefined) assertToken(token);
    const encoded = checkWrites(writes);
    return await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket) ?? NEW_BUCKET;
      const verdict = judgeWrite(bucket, before, token);
      if (!verdict.pass) throw new RefusedError(verdict.refusal);
      let after: BucketRecord = { ...before, highest: verdict.highest, revision: before.revision + 1 };
      for (const write of encoded) after = applyWrite(transaction, bucket, after, write);
      transaction.put(bucketKey(bucket), encodeBucketRecord(after));
      return { revision: after.revision };
    });
  }

  /** Installs a token before its holder reads. Creates the bucket. */
  async install(bucket: string, token: number): Promise<{ highest: number; previous: number }> {
    assertBucketName(bucket);
    assertToken(token);
    return await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket);
      const verdict = judgeInstall(before ?? NEW_BUCKET, token);
      if (!verdict.pass) throw new RefusedError(verdict.refusal);
      const previous = before?.highest ?? 0;
      if (before === undefined || verdict.highest !== previous) {
        const after = { ...(before ?? NEW_BUCKET), highest: verdict.highest };
        transaction.put(bucketKey(bucket), encodeBucketRecord(after));
      }
      return { highest: verdict.highest, previous };
    });
  }

  /** Makes a bucket whose token policy is not the default; it is fixed for the bucket's life. */
  async create(bucket: string, tokens: TokenPolicy): Promise<{ created: boolean }> {
    assertBucketName(bucket);
    return await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket);
      if (before === undefined) transaction.put(bucketKey(bucket), encodeBucketRecord({ ...NEW_BUCKET, tokens }));
      else if (before.tokens !== tokens) {
        throw new RefusedError({ code: 'BUCKET_EXISTS', bucket, tokens: before.tokens });
      }
      return { created: before === undefined };
    });
  }

  /**
   * An operator's act, for an ensemble that was set up anew and counts its tokens from the start: lets tokens from `to`
   * on pass again. Holders of older ensembles are fenced no longer.
   */
  async resetFence(bucket: string, to: number): Promise<{ highest: number; previous: number }> {
    assertBucketName(bucket);
    if (to !== 0) assertToken(to);
    return await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket);
      if (before === undefined) throw new RefusedError({ code: 'BUCKET_NOT_FOUND', bucket });
      transaction.put(bucketKey(bucket), encodeBucketRecord({ ...before, highest: to }));
      return { highest: to, previous: before.highest };
    });
  }

  get(bucket: string, key: string, { token }: TokenOption = {}): Found {
    const encoded = encodeKey(key);
    return this.#read(bucket, token, (reader) => {
      const record = loadKey(reader, bucket, encoded);
      if (record === undefined) throw new RefusedError({ code: 'KEY_NOT_FOUND', bucket, key });
      const value = reader.get(valueKey(bucket, encoded));
      if (value?.length !== record.valueBytes) {
        throw damaged(`the value of key "${key}" in bucket "${bucket}" is not the one that was written`);
      }
      return { value, revision: record.revision };
    });
  }

  list(bucket: string, options: ListOptions = {}): ListPage {
    const { prefix = '', after, limit = DEFAULT_LIST_LIMIT } = options;
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_LIMIT) {
      throw invalidArgument('limit', `limit is an integer from 1 to ${MAX_LIST_LIMIT}`);
    }
    const range = recordRange(
      bucket,
      prefix === '' ? EMPTY : encodeKey(prefix),
      after === undefined ? undefined : encodeKey(after),
    );
    return this.#read(bucket, options.token, (reader) => {
      const entries = reader.range({ ...range, limit: limit + 1 });
      const keys = entries.slice(0, limit).map((entry) => {
        const key = keyOfRecord(bucket, entry.key);
        const record = decodeKeyRecord(entry.value);
        if (record === undefined) throw damaged(`the record of key "${key}" in bucket "${bucket}" cannot be read`);
        return { key, revision: record.revision, bytes: record.valueBytes };
      });
      return { keys, next: entries.length > limit ? (keys.at(-1)?.key ?? null) : null };
    });
  }

  info(bucket: string, { token }: TokenOption = {}): BucketInfo {
    return this.#read(bucket, token, (_reader, { tokens, highest, revision, keys, bytes }) => {
      return { bucket, tokens, highest, revision, keys, bytes };
    });
  }

  /** Throws {@link EngineError} where the store cannot serve. */
  assertServing(): void {
    this.#engine.read((reader) => reader.get(FORMAT_KEY));
  }

  async close(): Promise<void> {
    await this.#engine.close();
  }

  #read<T>(bucket: string, token: number | undefined, body: (reader: Reader, record: BucketRecord) => T): T {
    assertBucketName(bucket);
    if (token !== undefined) assertToken(token);
    return this.#engine.read((reader) => {
      const record = loadBucket(reader, bucket);
      if (record === undefined) throw new RefusedError({ code: 'BUCKET_NOT_FOUND', bucket });
      const verdict = judgeRead(record, token);
      if (!verdict.pass) throw new RefusedError(verdict.refusal);
      return body(reader, record);
    });
  }
}

interface EncodedWrite extends KeyWrite {
  readonly keyBytes: Uint8Array;
}

function checkWrites(writes: readonly KeyWrite[]): EncodedWrite[] {
  if (writes.length === 0) throw invalidArgument('writes', 'a batch has at least one write');
  if (writes.length > MAX_BATCH_WRITES) {
    throw limitExceeded(
      'writes',
      MAX_BATCH_WRITES,
      `a batch has at most ${MAX_BATCH_WRITES} writes; this one has ${writes.length}`,
    );
  }
  const seen = new Set<string>();
  let bytes = 0;
  const encoded = writes.map((write) => {
    if (seen.has(write.key)) throw invalidArgument('writes', `key "${write.key}" is written twice in one batch`);
    seen.add(write.key);
    const valueBytes = write.value?.length ?? 0;
    if (valueBytes > MAX_VALUE_BYTES) {
      throw limitExceeded(
        'value',
        MAX_VALUE_BYTES,
        `a value has at most ${MAX_VALUE_BYTES} bytes; that of key "${write.key}" has ${valueBytes}`,
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

/** Writes one key and returns the bucket's record with the sums brought up to date. */
function applyWrite(
  transaction: Transaction,
  bucket: string,
  record: BucketRecord,
  { key, keyBytes, value, conditions = [] }: EncodedWrite,
): BucketRecord {
  const before = loadKey(transaction, bucket, keyBytes);
  if (!conditions.every((condition) => holds(condition, before?.revision))) {
    throw new RefusedError({ code: 'PRECONDITION_FAILED', key, revision: before?.revision ?? null });
  }
  const bytesBefore = before === undefined ? 0 : keyBytes.length + before.valueBytes;
  const keysBefore = before === undefined ? 0 : 1;
  const recordName = recordKey(bucket, keyBytes);
  if (value === undefined) {
    if (before !== undefined) {
      transaction.delete(recordName);
      transaction.delete(valueKey(bucket, keyBytes));
    }
    return { ...record, keys: record.keys - keysBefore, bytes: record.bytes - bytesBefore };
  }
  transaction.put(recordName, encodeKeyRecord({ revision: record.revision, valueBytes: value.length }));
  transaction.put(valueKey(bucket, keyBytes), value);
  return {
    ...record,
    keys: record.keys - keysBefore + 1,
    bytes: record.bytes - bytesBefore + keyBytes.length + value.length,
  };
}

function loadBucket(reader: Pick<Reader, 'get'>, bucket: string): BucketRecord | undefined {
  const bytes = reader.get(bucketKey(bucket));
  if (bytes === undefined) return undefined;
  const record = decodeBucketRecord(bytes);
  if (record === undefined) throw damaged(`the record of bucket "${bucket}" cannot be read`);
  return record;
}

function loadKey(reader: Pick<Reader, 'get'>, bucket: string, key: Uint8Array): KeyRecord | undefined {
  const bytes = reader.get(recordKey(bucket, key));
  if (bytes === undefined) return undefined;
  const record = decodeKeyRecord(bytes);
  if (record === undefined) throw damaged(`the record of a key in bucket "${bucket}" cannot be read`);
  return record;
}

function damaged(what: string): EngineError {
  return new EngineError('DAMAGED_DATA', `${what}; restore the data directory from a copy`);
}
