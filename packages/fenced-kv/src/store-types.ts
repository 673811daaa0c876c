/** What the store takes and answers, as types. */

import type { Clock } from '@holdfast/runtime';

import type { Following } from './changes/change-feed.ts';
import type { ConfirmerOptions, LookFigures } from './confirmation.ts';
import type { CommitFigures } from './engines/engine.ts';
import type { FenceRules } from './fence.ts';
import type { ValueChunks } from './keys/large-values.ts';
import type { TokenPolicy } from './refusal.ts';

export interface TokenOption {
  readonly token?: number | undefined;
  /** The lowest token under which the lock is held, from 0 to `token`. @default the token: it is held alone */
  readonly floor?: number | undefined;
}

export interface Found {
  readonly value: Uint8Array;
  readonly revision: number;
}

/** A value that may be large. Must be closed, once it is read no more. */
export interface OpenedValue {
  readonly revision: number;
  readonly bytes: number;
  /** Its time to live, as much as is left; undefined: for ever. */
  readonly expiresInMs: number | undefined;
  /** In one piece, or in chunks. */
  readonly value: Uint8Array | ValueChunks;
  close(): void;
}

export interface ListOptions extends TokenOption {
  readonly prefix?: string | undefined;
  /** Only keys after this one. */
  readonly after?: string | undefined;
  /** @default 100 */
  readonly limit?: number | undefined;
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
  readonly tokens: TokenPolicy;
  /** The lock whose tokens it takes; null: whatever it is told. */
  readonly lock: string | null;
  /** The highest floor, which is the highest token where locks are held alone; 0 while none was installed. */
  readonly highest: number;
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
}

/** A place in a bucket's changes. */
export interface Followed {
  /** Where it begins: what comes after it. */
  readonly from: number;
  /** What came after a revision, as far as it is remembered. */
  after(revision: number): Following;
  /** Calls back once, at the bucket's next change or the end of all. Returns how to take that back. */
  onNext(callback: () => void): () => void;
  /** The store follows nobody any more. */
  readonly closed: boolean;
}

/** What a store has and has done since it was opened, for those who watch it. */
export interface StoreFigures {
  readonly buckets: number;
  /** Large values that are being received. */
  readonly uploads: number;
  /** Of changes that are remembered for those who follow buckets. */
  readonly historyBytes: number;
  readonly commits: CommitFigures;
  readonly looks: LookFigures;
}

/** What is fixed for a bucket's life. */
export interface BucketKind {
  /** @default 'required' */
  readonly tokens?: TokenPolicy | undefined;
  /** The lock whose tokens it takes, confirmed at the ensemble. @default none */
  readonly lock?: string | undefined;
}

export interface StoreOptions extends FenceRules, ConfirmerOptions {
  /** What times to live count by. @default none: writes with a time to live are refused */
  readonly clock?: Pick<Clock, 'monotonicMs' | 'wallMs'> | undefined;
}
