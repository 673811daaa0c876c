/**
 * The replicated store as a client of the group sees it: calls go to whoever is primary, and one that certainly changed nothing is made again.
 * Each answer says in which epoch it was given.
 */

/** What a key has: both null where there is none. */
export interface KeptKey {
  readonly value: string | null;
  readonly revision: number | null;
}

/** All of its calls reject with StoreRefusal, UnansweredError or UnreachableError, or with what nobody has to expect. */
export interface GroupBucket {
  get(key: string): Promise<KeptKey & { readonly epoch: number }>;
  /** @param revision which the key must have; null: there must be none. @default any */
  put(
    key: string,
    value: string,
    revision?: number | null,
  ): Promise<{ readonly revision: number; readonly epoch: number }>;
  /** @param revision as of `put` */
  delete(key: string, revision?: number | null): Promise<{ readonly epoch: number }>;
}

export interface Group {
  /** A bucket that takes writes without a token, too. Nothing where it exists. */
  create(bucket: string): Promise<void>;
  /** Calls through it carry no token. */
  bucket(name: string): GroupBucket;
  /** Installs the token; calls through the bucket carry it. */
  fence(name: string, token: number): Promise<{ readonly bucket: GroupBucket; readonly epoch: number }>;
  /** Nobody is followed any more. */
  close(): void;
}
