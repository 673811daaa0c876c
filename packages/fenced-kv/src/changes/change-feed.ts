/**
 * What writes have changed, by bucket and revision, for those who follow a bucket. The last of it is kept in memory, within a bound that all
 * buckets share; the oldest goes first. A follower has no queue of its own but a place in that history: one that is too slow for it is told
 * that it has missed something, and takes no memory. What is told was durable before.
 */

import { MAX_HISTORY_BYTES } from '../limits.ts';
import { ChangeLog } from './change-log.ts';
import type { BucketRevision, Revision } from './revision.ts';

/** What comes after a revision: the next ones, none yet, or that they are not all known any more. */
export type Following =
  | { readonly type: 'revisions'; readonly revisions: readonly Revision[] }
  | { readonly type: 'missed'; readonly oldest: number };

interface History {
  /** Everything after this revision is known. */
  since: number;
  /** Their places in the log, in their order; so many of the first ones as are forgotten do not count any more. */
  places: number[];
  forgotten: number;
  /** The newest that is published, or on its way to the disk. */
  newest: number;
}

/** Revisions that a follower is given at once. */
const REVISIONS_AT_A_TIME = 64;

export class ChangeFeed {
  readonly #maxBytes: number;
  readonly #histories = new Map<string, History>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #log = new ChangeLog();
  #closed = false;

  constructor(maxBytes: number = MAX_HISTORY_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#log.bytes;
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
    const { bucket, revision } = changed;
    const history = this.#historyOf(bucket, revision);
    history.newest = Math.max(history.newest, revision);
    history.places.push(this.#log.append(changed));
    while (this.#log.bytes > this.#maxBytes) this.#forgetOldest();
    this.#wake(bucket);
  }

  /** `present`: the bucket's revision, as the engine has it. */
  after(bucket: string, revision: number, present: number): Following {
    const history = this.#histories.get(bucket);
    const oldest = history?.since ?? present;
    // One from the future is of a store that was restored from a backup since.
    if (revision < oldest || revision > present) return { type: 'missed', oldest };
    const first = (history?.forgotten ?? 0) + revision - oldest;
    const places = history?.places.slice(first, first + REVISIONS_AT_A_TIME) ?? [];
    return { type: 'revisions', revisions: places.map((place) => this.#log.at(place)) };
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
    const history: History = { since: revision - 1, places: [], forgotten: 0, newest: revision };
    this.#histories.set(bucket, history);
    return history;
  }

  #wake(bucket: string): void {
    const waiters = this.#waiters.get(bucket);
    if (waiters === undefined) return;
    this.#waiters.delete(bucket);
    for (const callback of waiters) callback();
  }

  #forgetOldest(): void {
    const oldest = this.#log.dropOldest();
    const history = oldest === undefined ? undefined : this.#histories.get(oldest.bucket);
    if (oldest === undefined || history === undefined) return;
    history.since = oldest.revision;
    history.forgotten += 1;
    if (history.newest === oldest.revision) {
      this.#histories.delete(oldest.bucket);
    } else if (history.forgotten > history.places.length / 2) {
      // Now and then, so that it costs nothing for each.
      history.places = history.places.slice(history.forgotten);
      history.forgotten = 0;
    }
  }
}

/**
 * What one commit of the engine changes. Who awaits that commit tells it then, and awaits nothing else before: so it is told in the order of
 * the commits.
 */
export class ChangesOfCommit {
  readonly #feed: ChangeFeed;
  #all: BucketRevision[] | undefined;

  constructor(feed: ChangeFeed) {
    this.#feed = feed;
  }

  /** Within the commit. */
  add(change: BucketRevision): void {
    this.#feed.announce(change);
    if (this.#all === undefined) this.#all = [change];
    else this.#all.push(change);
  }

  areDurable(): void {
    for (const change of this.#all ?? []) this.#feed.publish(change);
  }
}
