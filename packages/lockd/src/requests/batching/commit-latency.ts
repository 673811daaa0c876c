/**
 * How long the leader's own proposals take until they are applied here: one is followed at a time, and the times are averaged, the last
 * ones counting most.
 */

import { MAX_BATCH_WAIT_MS } from '../../limits.ts';

/** What one time counts in the average. */
const WEIGHT = 1 / 8;
/** A proposal that was not applied by then is followed no more: it may never be. */
const FOLLOWED_FOR_MS = 1_000;

export class CommitLatency {
  #averageMs: number | undefined;
  #followed: Uint8Array | undefined;
  #proposedAtMs = -Infinity;

  /** Undefined until one was seen; at most MAX_BATCH_WAIT_MS. */
  get averageMs(): number | undefined {
    return this.#averageMs;
  }

  /** The next proposal may be followed. */
  wantsNext(nowMs: number): boolean {
    return this.#followed === undefined || nowMs - this.#proposedAtMs > FOLLOWED_FOR_MS;
  }

  proposed(entry: Uint8Array, nowMs: number): void {
    this.#followed = entry;
    this.#proposedAtMs = nowMs;
  }

  follows(entry: Uint8Array): boolean {
    return this.#followed === entry;
  }

  /** The one that is followed. */
  applied(nowMs: number): void {
    this.#followed = undefined;
    // One that a stalled process made long would be remembered for many more.
    const tookMs = Math.min(nowMs - this.#proposedAtMs, MAX_BATCH_WAIT_MS);
    const before = this.#averageMs ?? tookMs;
    this.#averageMs = before + (tookMs - before) * WEIGHT;
  }
}
