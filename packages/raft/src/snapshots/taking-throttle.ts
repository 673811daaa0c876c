/**
 * How long a server that takes a snapshot leaves its event loop and its disk alone after a slice. A prefix is unthrottled: a server that
 * stops before its snapshot is whole replays the log behind the one before at every start. What is beyond it is throttled, since servers
 * with one disk take theirs at the same entry, and a large snapshot keeps that disk busy for long. Not the Throttle of the runtime, whose
 * rests begin with the end of the work: these begin when the disk has the slice.
 */

import {
  UNTHROTTLED_BYTES,
  UNTHROTTLED_REST_FACTOR,
  SLICE_REST_FACTOR,
  TAKEN_BYTES_PER_MS,
} from './snapshot-options.ts';

/** Rests for the disk's sake that are shorter accumulate. */
const SHORTEST_REST_MS = 1;

/** Of one snapshot. */
export class TakingThrottle {
  #bytes = 0;
  /** What the bytes beyond the prefix are worth to the disk, and it has not been given yet. */
  #debtMs = 0;

  /** Milliseconds after a slice of `sliceBytes` that took the event loop `tookMs`. */
  restMsAfter(sliceBytes: number, tookMs: number): number {
    this.#bytes += sliceBytes;
    if (this.#bytes <= UNTHROTTLED_BYTES) return UNTHROTTLED_REST_FACTOR * tookMs;
    this.#debtMs += sliceBytes / TAKEN_BYTES_PER_MS;
    const forDisk = this.#debtMs >= SHORTEST_REST_MS ? this.#debtMs : 0;
    const restMs = Math.max(SLICE_REST_FACTOR * tookMs, forDisk);
    this.#debtMs = Math.max(0, this.#debtMs - restMs);
    return restMs;
  }
}
