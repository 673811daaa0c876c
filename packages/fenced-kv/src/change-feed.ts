/**
 * What writes have changed, by bucket and revision, for those who follow a bucket. The last of it is kept in memory, within a bound that all
 * buckets share; the oldest goes first. A follower has no queue of its own but a place in that history: one that is too slow for it is told
 * that it has missed something, and takes no memory. What is told was durable before.
 */

import { MAX_HISTORY_BYTES } from './limits.ts';

export interface Change {
  /** `expired`: its time to live was over some time ago, and it has been removed now. */
  readonly type: 'put' | 'delete' | 'expired';
  readonly key: string;
  /** Of the value, of a `put`. */
  readonly bytes?: number;
}

/** All that one write has changed, or one removal of expired keys. */
export interface Revision {
  readonly revision: number;
  readonly changes: readonly Change[];
}

export interface BucketRevision extends Revision {
  readonly bucket: string;
}

/** What comes after a revision: the next ones, none yet, or that they are not all known any more. */
export type Following =
  | { readonly type: 'revisions'; readonly revisions: readonly Revision[] }
  | { readonly type: 'missed'; readonly oldest: number };

interface History {
  /** Everything after this revision is known. */
  since: number;
  readonly revisions: Revision[];
  /** The newest that is published, or on its way to the disk. */
  newest: number;
}

/** A change is counted as its key's characters, twice, and so many bytes more. */
const CHANGE_OVERHEAD_BYTES = 128;
/** Revisions that a follower is given at once. */
const REVISIONS_AT_A_TIME = 64;

export class ChangeFeed {
  readonly #maxBytes: number;
  readonly #histories = new Map<string, History>();
  readonly #waiters = new Map<string, Set<() => void>>();
  /** In the order in which they came: what is forgotten first. */
  #order: BucketRevision[] = [];
  #forgotten = 0;
  #bytes = 0;
  #closed = false;

  constructor(maxBytes: number = MAX_HISTORY_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * A revision that is about to be durable, in the order of the bucket's: the engine may show it before it is published, and who waits for
   * it must not be told then that it was missed.
   */
  announce({ bucket, revision }: Pick<BucketRevision, 'bucket' | 'revision'>): void {
    this.#historyOf(bucket, revision).newest = revision;
  }

  /** It is durable. In the same order. */
  publish(changed: BucketRevision): void {
    const { bucket, revision, changes } = changed;
    const history = this.#historyOf(bucket, revision);
    history.newest = Math.max(history.newest, revision);
    history.revisions.push({ revision, changes });
    this.#order.push(changed);
    this.#bytes += sizeOf(changed);
    while (this.#bytes > this.#maxBytes) this.#forgetOldest();
    this.#wake(bucket);
  }

  /** `present`: the bucket's revision, as the engine has it. */
  after(bucket: string, revision: number, present: number): Following {
    const history = this.#histories.get(bucket);
    const oldest = history?.since ?? present;
    // One from the future is of a store that was restored from a backup since.
    if (revision < oldest || revision > present) return { type: 'missed', oldest };
    const revisions = history?.revisions ?? [];
    const first = revision - oldest;
    return { type: 'revisions', revisions: revisions.slice(first, first + REVISIONS_AT_A_TIME) };
  }

  /** Calls back once, at the bucket's next change or the end of the feed. Returns how to take that back. */
  onNext(bucket: string, callback: () => void): () => void {
    const waiters = this.#waiters.get(bucket) ?? new Set();
    this.#waiters.set(bucket, waiters);
    waiters.add(callback);
    return () => {
      waiters.delete(callback);
      if (waiters.size === 0 && this.#waiters.get(bucket) === waiters) this.#waiters.delete(bucket);
    };
  }

  /** Nothing follows: who waits is called. */
  close(): void {
    this.#closed = true;
    for (const bucket of this.#waiters.keys()) this.#wake(bucket);
  }

  #historyOf(bucket: string, revision: number): History {
    const known = this.#histories.get(bucket);
    if (known !== undefined) return known;
    const history: History = { since: revision - 1, revisions: [], newest: revision };
    this.#histories.set(bucket, history);
    return history;
  }

  #wake(bucket: string): void {
    const waiters = this.#waiters.get(bucket);
    this.#waiters.delete(bucket);
    for (const callback of waiters ?? []) callback();
  }

  #forgetOldest(): void {
    const oldest = this.#order[this.#forgotten];
    if (oldest === undefined) return;
    this.#forgotten += 1;
    this.#bytes -= sizeOf(oldest);
    const history = this.#histories.get(oldest.bucket);
    history?.revisions.shift();
    if (history !== undefined) history.since = oldest.revision;
    if (history?.newest === oldest.revision) this.#histories.delete(oldest.bucket);
    // Now and then, so that it costs nothing for each.
    if (this.#forgotten > this.#order.length / 2) {
      this.#order = this.#order.slice(this.#forgotten);
      this.#forgotten = 0;
    }
  }
}

function sizeOf({ changes }: Revision): number {
  return changes.reduce((sum, { key }) => sum + 2 * key.length + CHANGE_OVERHEAD_BYTES, CHANGE_OVERHEAD_BYTES);
}
