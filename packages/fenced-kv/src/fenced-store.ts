/**
 * Buckets of keys behind a fence, over an {@link Engine}. Every write is one commit of the engine in which the token is
 * judged, then the conditions, then everything is written, the highest token with it: all of it or nothing, durable when
 * the promise resolves. A token that passes is installed even where a condition does not hold: its holder has been here.
 * Refusals are {@link RefusedError}s.
 */

import { encodeBucketRecord, NEW_BUCKET } from './bucket-record.ts';
import type { BucketRecord } from './bucket-record.ts';
import { countBuckets } from './bucket-names.ts';
import { ChangeFeed, ChangesOfCommit } from './changes/change-feed.ts';
import type { Following } from './changes/change-feed.ts';
import type { Change } from './changes/revision.ts';
import { Confirmer } from './confirmation.ts';
import type { Engine, Reader, Transaction } from './engines/engine.ts';
import { judgeInstall, judgeRead, judgeWrite } from './fence.ts';
import type { Claim, FenceRules } from './fence.ts';
import {
  assertFormat,
  bucketKey,
  CLOCK_KEY,
  damaged,
  encodeTime,
  FORMAT_KEY,
  FORMAT_VERSION,
  liveKey,
  loadBucket,
  valueKey,
} from './keyspace.ts';
import { expiredKeys, removeExpiredKeys } from './keys/expired-keys.ts';
import { applyWrite, checkWrites, failedCondition } from './keys/key-write.ts';
import type { KeyWrite } from './keys/key-write.ts';
import { LargeValues } from './keys/large-values.ts';
import type { LargeValue, ValueChunks, ValueUpload } from './keys/large-values.ts';
import { listRange, readPage } from './keys/list-page.ts';
import { MAX_EXPIRIES_A_COMMIT } from './limits.ts';
import { assertBucketName, assertLockName, assertToken, claimOf, encodeKey } from './name.ts';
import { invalidArgument, RefusedError } from './refusal.ts';
import { StoreClock } from './store-clock.ts';
import type {
  BucketInfo,
  BucketKind,
  Followed,
  Found,
  ListOptions,
  ListPage,
  OpenedValue,
  StoreFigures,
  StoreOptions,
  TokenOption,
} from './store-types.ts';

export type * from './store-types.ts';

const EMPTY = new Uint8Array(0);

export class FencedStore {
  readonly #engine: Engine;
  readonly #rules: FenceRules;
  readonly #confirmer: Confirmer;
  readonly #largeValues: LargeValues;
  readonly #clock: StoreClock | undefined;
  readonly #feed = new ChangeFeed();
  #buckets: number;

  private constructor(engine: Engine, options: StoreOptions) {
    this.#engine = engine;
    this.#rules = options;
    this.#confirmer = new Confirmer(options);
    this.#largeValues = new LargeValues(engine);
    this.#clock = options.clock === undefined ? undefined : StoreClock.open(engine, options.clock);
    this.#buckets = countBuckets(engine);
  }

  /** Checks that the engine's data is of this format, or marks an empty engine with it. Rejects with DAMAGED_DATA. */
  static async open(engine: Engine, options: StoreOptions = {}): Promise<FencedStore> {
    await engine.commit((transaction) => {
      const format = transaction.get(FORMAT_KEY);
      assertFormat(format);
      if (format?.[0] === FORMAT_VERSION) return;
      transaction.put(FORMAT_KEY, Uint8Array.of(FORMAT_VERSION));
    });
    const store = new FencedStore(engine, options);
    await store.#largeValues.sweep();
    return store;
  }

  /** All writes or none, under one token; they share one revision. */
  async write(bucket: string, writes: readonly KeyWrite[], holder: TokenOption = {}): Promise<{ revision: number }> {
    assertBucketName(bucket);
    const claim = claimOf(holder.token, holder.floor);
    const encoded = checkWrites(writes);
    const keepsTime = encoded.some(({ ttlMs }) => ttlMs !== undefined);
    if (keepsTime && this.#clock === undefined) {
      throw invalidArgument('ttlMs', 'this store was opened without a clock, so keys of it have no time to live');
    }
    let loosened: LargeValue[] = [];
    const outcome = await this.#commitClaim(bucket, claim, (transaction, present, changes) => {
      const before = present ?? NEW_BUCKET;
      const verdict = judgeWrite(bucket, before, claim, this.#rulesFor(before));
      if (!verdict.pass) throw new RefusedError(verdict.refusal);
      const installed: BucketRecord = { ...before, highest: verdict.highest };
      const nowMs = this.#nowMs();
      const refusal = failedCondition(transaction, bucket, encoded, nowMs);
      if (refusal !== undefined) {
        // Returned, not thrown: the commit keeps the token, or an older holder could write after this answer.
        if (installed.highest !== before.highest) transaction.put(bucketKey(bucket), encodeBucketRecord(installed));
        return refusal;
      }
      let after: BucketRecord = { ...installed, revision: before.revision + 1 };
      const loosen = (value: LargeValue): void => {
        this.#largeValues.loosen(transaction, value);
        loosened.push(value);
      };
      loosened = [];
      for (const write of encoded) after = applyWrite(transaction, bucket, after, write, { nowMs, loosen });
      if (keepsTime) transaction.put(CLOCK_KEY, encodeTime(nowMs));
      transaction.put(bucketKey(bucket), encodeBucketRecord(after));
      changes.add({ bucket, revision: after.revision, changes: encoded.map(changeOf) });
      return { revision: after.revision };
    });
    if ('code' in outcome) throw new RefusedError(outcome);
    // The write is done; what cannot be removed now is removed at the next start.
    if (loosened.length > 0) this.#largeValues.loosened(loosened).catch(() => {});
    return outcome;
  }

  /** Installs a holder's floor before it reads; that is the token where none is given. Creates the bucket. */
  async install(bucket: string, token: number, floor?: number): Promise<{ highest: number; previous: number }> {
    assertBucketName(bucket);
    const claim = claimOf(token, floor) ?? { token, floor: token };
    return await this.#commitClaim(bucket, claim, (transaction, before) => {
      const verdict = judgeInstall(before ?? NEW_BUCKET, claim, this.#rulesFor(before ?? NEW_BUCKET));
      if (!verdict.pass) throw new RefusedError(verdict.refusal);
      const previous = before?.highest ?? 0;
      if (before === undefined || verdict.highest !== previous) {
        const after = { ...(before ?? NEW_BUCKET), highest: verdict.highest };
        transaction.put(bucketKey(bucket), encodeBucketRecord(after));
      }
      return { highest: verdict.highest, previous };
    });
  }

  /** Makes a bucket that is not as the first write would make it. What it is, it is for life. */
  async create(bucket: string, { tokens = 'required', lock }: BucketKind): Promise<{ created: boolean }> {
    assertBucketName(bucket);
    if (lock !== undefined) assertLockName(lock);
    const outcome = await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket);
      if (before === undefined) {
        transaction.put(bucketKey(bucket), encodeBucketRecord({ ...NEW_BUCKET, tokens, lock }));
      } else if (before.tokens !== tokens || before.lock !== lock) {
        throw new RefusedError({ code: 'BUCKET_EXISTS', bucket, tokens: before.tokens, lock: before.lock ?? null });
      }
      return { created: before === undefined };
    });
    if (outcome.created) this.#buckets += 1;
    return outcome;
  }

  /**
   * An operator's act: binds a bucket that exists to a lock. Not for clients: whoever binds a bucket of others to a lock of its own keeps
   * them out.
   */
  async bind(bucket: string, lock: string): Promise<{ previous: string | null }> {
    assertBucketName(bucket);
    assertLockName(lock);
    return await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket);
      if (before === undefined) throw new RefusedError({ code: 'BUCKET_NOT_FOUND', bucket });
      if (before.lock !== lock) {
        transaction.put(bucketKey(bucket), encodeBucketRecord({ ...before, lock }));
        this.#confirmer.forget(bucket);
      }
      return { previous: before.lock ?? null };
    });
  }

  /**
   * An operator's act, for an ensemble that was set up anew and counts its tokens from the start: lets tokens from `to`
   * on pass again. Holders of older ensembles are fenced no longer. `check` is given the present highest, in the same step, and throws
   * where it must not be.
   */
  async resetFence(
    bucket: string,
    to: number,
    check: (highest: number) => void = () => {},
  ): Promise<{ highest: number; previous: number }> {
    assertBucketName(bucket);
    if (to !== 0) assertToken(to);
    return await this.#engine.commit((transaction) => {
      const before = loadBucket(transaction, bucket);
      if (before === undefined) throw new RefusedError({ code: 'BUCKET_NOT_FOUND', bucket });
      check(before.highest);
      if (before.highest !== to) {
        transaction.put(bucketKey(bucket), encodeBucketRecord({ ...before, highest: to }));
        this.#confirmer.forget(bucket);
      }
      return { highest: to, previous: before.highest };
    });
  }

  /** The whole value, however large. */
  get(bucket: string, key: string, holder: TokenOption = {}): Found {
    const found = this.open(bucket, key, holder);
    const { revision, value } = found;
    try {
      return { revision, value: value instanceof Uint8Array ? value : wholeOf(value) };
    } finally {
      found.close();
    }
  }

  /** A value that may be read piece by piece: as it is now, whatever is written meanwhile. */
  open(bucket: string, key: string, holder: TokenOption = {}): OpenedValue {
    const encoded = encodeKey(key);
    return this.#read(bucket, holder, (reader) => {
      const nowMs = this.#nowMs();
      const record = liveKey(reader, bucket, encoded, nowMs);
      if (record === undefined) throw new RefusedError({ code: 'KEY_NOT_FOUND', bucket, key });
      const { revision, valueBytes: bytes, largeValue, expiresAtMs } = record;
      const expiresInMs = expiresAtMs === undefined ? undefined : expiresAtMs - nowMs;
      if (largeValue !== undefined) {
        const chunks = this.#largeValues.open({ number: largeValue, bytes });
        return { revision, bytes, expiresInMs, value: chunks, close: () => chunks.close() };
      }
      // A copy with memory of its own: a record lies beside others.
      const value = record.value === undefined ? reader.get(valueKey(bucket, encoded)) : new Uint8Array(record.value);
      if (value?.length !== bytes) {
        throw damaged(`the value of key "${key}" in bucket "${bucket}" is not the one that was written`);
      }
      return { revision, bytes, expiresInMs, value, close() {} };
    });
  }

  /** Begins a value that comes in pieces, for a {@link write} of this holder. @throws RefusedError where that would be refused already */
  upload(bucket: string, holder: TokenOption = {}): ValueUpload {
    assertBucketName(bucket);
    const claim = claimOf(holder.token, holder.floor);
    const before = this.#engine.read((reader) => loadBucket(reader, bucket)) ?? NEW_BUCKET;
    const verdict = judgeWrite(bucket, before, claim, this.#rulesFor(before));
    if (!verdict.pass) throw new RefusedError(verdict.refusal);
    return this.#largeValues.upload();
  }

  list(bucket: string, options: ListOptions = {}): ListPage {
    const range = listRange(bucket, options);
    return this.#read(bucket, options, (reader) => readPage(reader, bucket, range, this.#nowMs()));
  }

  info(bucket: string, holder: TokenOption = {}): BucketInfo {
    return this.#read(bucket, holder, (_reader, { tokens, lock = null, highest, revision, keys, bytes }) => {
      return { bucket, tokens, lock, highest, revision, keys, bytes };
    });
  }

  /** The bucket's changes after revision `from`: those to come where it is undefined. @throws RefusedError where they are not remembered */
  follow(bucket: string, from: number | undefined, holder: TokenOption = {}): Followed {
    const feed = this.#feed;
    const present = this.#read(bucket, holder, (_reader, { revision }) => revision);
    const start = from ?? present;
    const after = (revision: number): Following =>
      feed.after(
        bucket,
        revision,
        this.#engine.read((reader) => loadBucket(reader, bucket)?.revision ?? 0),
      );
    const following = after(start);
    if (following.type === 'missed') {
      throw new RefusedError({ code: 'MISSED', bucket, from: start, oldest: following.oldest });
    }
    return {
      from: start,
      after,
      onNext: (callback) => feed.onNext(bucket, callback),
      get closed() {
        return feed.closed;
      },
    };
  }

  /** Ends what follows buckets: it would go on for ever. */
  stopFollowing(): void {
    this.#feed.close();
  }

  /**
   * Removes some keys whose time to live is over, which nobody sees any more, and resolves with how many. Each bucket's revision rises, as
   * by a write.
   */
  async removeExpired(): Promise<number> {
    const nowMs = this.#nowMs();
    const found = this.#engine.read((reader) => expiredKeys(reader, nowMs, MAX_EXPIRIES_A_COMMIT));
    if (found.length === 0) return 0;
    const loosened: LargeValue[] = [];
    const changes = new ChangesOfCommit(this.#feed);
    await this.#engine.commit((transaction) => {
      const loosen = (value: LargeValue): void => {
        this.#largeValues.loosen(transaction, value);
        loosened.push(value);
      };
      removeExpiredKeys(transaction, found, { nowMs, loosen, changed: (change) => changes.add(change) });
      transaction.put(CLOCK_KEY, encodeTime(nowMs));
    });
    changes.areDurable();
    await this.#largeValues.loosened(loosened);
    return found.length;
  }

  get figures(): StoreFigures {
    return {
      buckets: this.#buckets,
      uploads: this.#largeValues.uploads,
      historyBytes: this.#feed.bytes,
      commits: this.#engine.figures,
      looks: this.#confirmer.looks,
    };
  }

  /** Throws {@link EngineError} where the store cannot serve. */
  assertServing(): void {
    this.#engine.read((reader) => reader.get(FORMAT_KEY));
  }

  async close(): Promise<void> {
    await this.#engine.close();
  }

  /** Without a clock nothing expires. */
  #nowMs(): number {
    return this.#clock?.nowMs() ?? 0;
  }

  /** What the ensemble has confirmed needs no guard against mistakes. */
  #rulesFor({ lock }: BucketRecord): FenceRules {
    return lock === undefined ? this.#rules : { allowTokenJumps: true };
  }

  /** Commits `body`; where the claim is news to a bucket of a lock, when the ensemble has confirmed it. */
  async #commitClaim<T>(
    bucket: string,
    claim: Claim | undefined,
    body: (transaction: Transaction, before: BucketRecord | undefined, changes: ChangesOfCommit) => T,
  ): Promise<T> {
    let confirmed: string | undefined;
    for (;;) {
      const changes = new ChangesOfCommit(this.#feed);
      const outcome = await this.#engine.commit((transaction) => {
        const before = loadBucket(transaction, bucket);
        const lock = claim && this.#confirmer.lockToAsk(bucket, before ?? NEW_BUCKET, claim);
        if (lock !== undefined && lock !== confirmed) return { lock };
        const result = body(transaction, before, changes);
        return { result, created: before === undefined && transaction.get(bucketKey(bucket)) !== undefined };
      });
      changes.areDurable();
      if ('result' in outcome) {
        if (outcome.created) this.#buckets += 1;
        return outcome.result;
      }
      if (claim !== undefined) await this.#confirmer.confirm(bucket, outcome.lock, claim);
      confirmed = outcome.lock;
    }
  }

  #read<T>(bucket: string, holder: TokenOption, body: (reader: Reader, record: BucketRecord) => T): T {
    assertBucketName(bucket);
    const claim: Claim | undefined = claimOf(holder.token, holder.floor);
    return this.#engine.read((reader) => {
      const record = loadBucket(reader, bucket);
      if (record === undefined) throw new RefusedError({ code: 'BUCKET_NOT_FOUND', bucket });
      const verdict = judgeRead(record, claim);
      if (!verdict.pass) throw new RefusedError(verdict.refusal);
      return body(reader, record);
    });
  }
}

function changeOf({ key, value }: KeyWrite): Change {
  if (value === undefined) return { type: 'delete', key };
  return { type: 'put', key, bytes: value instanceof Uint8Array ? value.length : value.bytes };
}

function wholeOf(chunks: ValueChunks): Uint8Array {
  const whole = new Uint8Array(chunks.bytes);
  let position = 0;
  for (let index = 0; position < whole.length; index += 1) {
    const chunk = chunks.chunk(index) ?? EMPTY;
    whole.set(chunk, position);
    position += chunk.length;
  }
  return whole;
}
