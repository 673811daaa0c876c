/** What the calls of a bucket take and answer, as types. */

/** What a bucket needs of a held lock; the lock client's handles are such. */
export interface Held {
  readonly token: number;
  /**
   * The lowest token under which the lock is held, for one that several hold, from 0 to `token`. Asked for with each call, since it
   * rises. @default the token
   */
  readonly floor?: number | undefined;
  /** Aborts when the lock is lost; calls under way end with it. */
  readonly signal?: AbortSignal;
  /** Throws when the lock may be lost. */
  assertHeld?(): void;
}

export interface CallOptions {
  /** Ends the wait for an answer; a write that was sent may still happen (the error's `indeterminate`). */
  readonly signal?: AbortSignal;
}

export interface CreateOptions extends CallOptions {
  /** `optional`: writes without a token are taken, too, and are not fenced. @default 'required' */
  readonly tokens?: 'required' | 'optional';
  /**
   * The lock whose tokens the bucket takes. A higher one than it knows is confirmed at the ensemble that `fenced-kvd --ensemble` names: the
   * call fails with {@link TokenNotGrantedError}, or ENSEMBLE_UNREACHABLE (`retryable`). @default none: any token is believed
   */
  readonly lock?: string;
}

export interface WriteOptions extends CallOptions {
  /** The revision that the key must have, or null where it must be absent; else {@link PreconditionFailedError}. */
  readonly ifRevision?: number | null;
}

export interface PutOptions extends WriteOptions {
  /**
   * After so many milliseconds the key is absent to everybody, until it is written again: 1 to ten years. It counts by the store's clock, a
   * jump of which changes nothing while the store runs. @default for ever
   */
  readonly ttlMs?: number;
}

export type BatchWrite =
  | {
      readonly op: 'put';
      readonly key: string;
      readonly value: Uint8Array | string;
      readonly ifRevision?: number | null;
      readonly ttlMs?: number;
    }
  | { readonly op: 'delete'; readonly key: string; readonly ifRevision?: number | null };

export interface KeyValue {
  readonly value: Uint8Array;
  readonly revision: number;
  /** Its time to live, as much as is left; absent: for ever. */
  readonly expiresInMs?: number;
}

/** A value that is read as it comes. */
export interface StreamedValue {
  readonly revision: number;
  readonly bytes: number;
  /** Read to its end, or cancelled: until then the store keeps the value, and cuts off who takes nothing for 30 seconds. */
  readonly body: ReadableStream<Uint8Array>;
}

export interface ChangesOptions extends CallOptions {
  /** The revision behind which to begin. @default the present one: what is to come */
  readonly from?: number | undefined;
}

export interface ListOptions extends CallOptions {
  readonly prefix?: string;
  readonly after?: string;
  /** Keys of one page, up to 1,000. @default 100 */
  readonly limit?: number;
}

export interface ListedKey {
  readonly key: string;
  readonly revision: number;
  readonly bytes: number;
  /** Its time to live, as much as is left; absent: for ever. */
  readonly expiresInMs?: number;
}

export interface ListPage {
  /** Fewer than were asked for where some have expired, perhaps none. */
  readonly keys: readonly ListedKey[];
  /** What to pass as `after` for the next page; null at the end. */
  readonly next: string | null;
}

export interface BucketInfo {
  readonly bucket: string;
  readonly tokens: 'required' | 'optional';
  /** The lock whose tokens it takes; null: whatever it is told. */
  readonly lock: string | null;
  /** The highest floor, which is the highest token where locks are held alone; 0 while none was installed. */
  readonly highest: number;
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
}
