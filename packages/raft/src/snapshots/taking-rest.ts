/**
 * How long a server that takes a snapshot leaves its event loop and its disk alone after a slice. The first bytes go briskly: a server
 * that stops before its snapshot is whole replays the log behind the one before at every start. What is beyond them is paced, since
 * servers with one disk take theirs at the same entry, and a large snapshot keeps that disk busy for long.
 */

import { BRISK_BYTES, BRISK_REST_FACTOR, SLICE_REST_FACTOR, TAKEN_BYTES_PER_MS } from './snapshot-options.ts';

/** Rests for the disk's sake that are shorter gather. */
const SHORTEST_REST_MS = 1;

/** Of one snapshot. */
export class TakingRest {
  #bytes = 0;
  /** For the bytes behind the brisk ones. */
  #owedMs = 0;

  /** Milliseconds after a slice of `sliceBytes` that took the event loop `tookMs`. */
  after(sliceBytes: number, tookMs: number): number {
    this.#bytes += sliceBytes;
    if (this.#bytes <= BRISK_BYTES) return BRISK_REST_FACTOR * tookMs;
    this.#owedMs += sliceBytes / TAKEN_BYTES_PER_MS;
    const forDisk = this.#owedMs >= SHORTEST_REST_MS ? this.#owedMs : 0;
    const restMs = Math.max(SLICE_REST_FACTOR * tookMs, forDisk);
    this.#owedMs = Math.max(0, this.#owedMs - restMs);
    return restMs;
  }
}
