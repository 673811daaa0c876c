/**
 * The highest token of a bucket never falls: no token is accepted below one that was accepted before, also over a restart of the store,
 * a token is refused as stale exactly
 * when the store has seen a higher one, and one that was installed stays known.
 */

import type { EventOf } from '../../history/calls.ts';
import { UNFENCED_BUCKET, type History, type HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import type { Verdict } from '../verdict.ts';

type StoreCompletion = Extract<HistoryEvent, { readonly type: 'ok' | 'fail' | 'info'; readonly bucket: string }>;

/** A proof that the bucket's highest token is so high from that event on. */
interface Floor {
  readonly token: number;
  readonly event: HistoryEvent | undefined;
}

const NO_FLOOR: Floor = { token: 0, event: undefined };

class Bucket {
  /** By what callers were answered. */
  floor = NO_FLOOR;
  /** By the store's own order, where the harness sees it. */
  accepted = NO_FLOOR;
  /** Tokens that writers have presented until now. */
  readonly presented = new Set<number>();
}

class StoreWatch {
  readonly findings = new Findings('fence', ['accepted', 'stale', 'buckets']);
  readonly #buckets = new Map<string, Bucket>();
  /** What was proven when each open call was invoked. */
  readonly #floors = new Map<number, Floor>();

  see(event: HistoryEvent): void {
    if (event.type === 'accepted') this.#accepted(event);
    else if (isOfStore(event) && event.bucket !== UNFENCED_BUCKET) {
      if (event.type === 'invoke') this.#invoked(event);
      else this.#completed(event);
    }
  }

  #invoked(event: Called): void {
    const bucket = this.#bucket(event.bucket);
    this.#floors.set(event.call, bucket.floor);
    // What a read brings, nobody installs.
    const isRead = event.f === 'get' || event.f === 'kv-get';
    if (!isRead && event.token !== undefined) bucket.presented.add(event.token);
  }

  #completed(event: StoreCompletion): void {
    const before = this.#floors.get(event.call);
    this.#floors.delete(event.call);
    if (before === undefined || event.token === undefined) return;
    if (event.type === 'ok') this.#passed(event, event.token, before);
    else if (event.code === 'STALE_TOKEN') this.#refused(event, event.token, before);
    else if (event.code === 'TOKEN_NOT_INSTALLED') this.#forgotten(event, event.token, before);
  }

  #passed(event: StoreCompletion, token: number, before: Floor): void {
    this.findings.count('accepted');
    if (token < before.token) {
      this.findings.broken(
        `bucket ${event.bucket} accepted token ${token} (${event.f}) after it had ${before.token}`,
        before.event,
        event,
      );
    }
    this.#raise(this.#bucket(event.bucket), { token, event });
  }

  #refused(event: Extract<StoreCompletion, { readonly code: string }>, token: number, before: Floor): void {
    this.findings.count('stale');
    const { bucket, highest } = event;
    if (highest === undefined) return;
    if (highest <= token) {
      this.findings.broken(`bucket ${bucket} refused token ${token} as stale, and its highest is ${highest}`, event);
    } else if (highest < before.token) {
      this.findings.broken(
        `the highest token of bucket ${bucket} fell from ${before.token} to ${highest}`,
        before.event,
        event,
      );
    } else if (!this.#bucket(bucket).presented.has(highest)) {
      this.findings.broken(`bucket ${bucket} has token ${highest}, which nobody has brought there`, event);
    }
    this.#raise(this.#bucket(bucket), { token: highest, event });
  }

  /** Only of a token above the highest may a store say that it is not installed. */
  #forgotten(event: StoreCompletion, token: number, before: Floor): void {
    if (token > before.token) return;
    this.findings.broken(
      `bucket ${event.bucket} does not know token ${token} any more, after it had ${before.token}`,
      before.event,
      event,
    );
  }

  #accepted(event: EventOf<'accepted'>): void {
    if (event.bucket === UNFENCED_BUCKET) return;
    this.findings.count('accepted');
    const bucket = this.#bucket(event.bucket);
    const { token, event: before } = bucket.accepted;
    if (event.token < token) {
      this.findings.broken(`bucket ${event.bucket} accepted token ${event.token} after ${token}`, before, event);
    } else {
      bucket.accepted = { token: event.token, event };
    }
  }

  #raise(bucket: Bucket, floor: Floor): void {
    if (floor.token > bucket.floor.token) bucket.floor = floor;
  }

  #bucket(name: string): Bucket {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = new Bucket();
      this.#buckets.set(name, bucket);
      this.findings.count('buckets');
    }
    return bucket;
  }
}

type Called = Extract<HistoryEvent, { readonly type: 'invoke'; readonly bucket: string }>;

function isOfStore(event: HistoryEvent): event is Called | StoreCompletion {
  return 'bucket' in event && 'call' in event;
}

export function checkFence(history: History): Verdict {
  const watch = new StoreWatch();
  for (const event of history) watch.see(event);
  return watch.findings.verdict(watch.findings.counted('accepted') > 0);
}
