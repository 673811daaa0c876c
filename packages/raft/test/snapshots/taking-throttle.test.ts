import { describe, expect, it } from 'vitest';
import {
  UNTHROTTLED_BYTES,
  UNTHROTTLED_REST_FACTOR,
  SLICE_REST_FACTOR,
  TAKEN_BYTES_PER_MS,
} from '../../src/snapshots/snapshot-options.ts';
import { TakingThrottle } from '../../src/snapshots/taking-throttle.ts';

/** Of a snapshot that is past its unthrottled prefix. */
function throttled(): TakingThrottle {
  const throttle = new TakingThrottle();
  throttle.restMsAfter(UNTHROTTLED_BYTES, 0);
  return throttle;
}

describe('the rest after a slice', () => {
  it('is for the event loop alone, up to the last byte of the unthrottled prefix', () => {
    const throttle = new TakingThrottle();
    expect(throttle.restMsAfter(UNTHROTTLED_BYTES - 1, 3)).toBe(3 * UNTHROTTLED_REST_FACTOR);
    expect(throttle.restMsAfter(1, 5)).toBe(5 * UNTHROTTLED_REST_FACTOR);
  });

  it('is longer from the first byte behind it', () => {
    expect(throttled().restMsAfter(1, 3)).toBe(3 * SLICE_REST_FACTOR);
  });

  it('gives the disk what the bytes are worth, where the slice took less', () => {
    expect(throttled().restMsAfter(8 * TAKEN_BYTES_PER_MS, 0.5)).toBe(8);
  });

  it('accumulates for the disk where slices are small', () => {
    const throttle = throttled();
    const rests = Array.from({ length: 6 }, () => throttle.restMsAfter(TAKEN_BYTES_PER_MS / 2, 0));
    expect(rests).toEqual([0, 1, 0, 1, 0, 1]);
  });

  it('owes the disk nothing for time that the event loop was given', () => {
    const throttle = throttled();
    expect(throttle.restMsAfter(8 * TAKEN_BYTES_PER_MS, 4)).toBe(4 * SLICE_REST_FACTOR);
    expect(throttle.restMsAfter(TAKEN_BYTES_PER_MS, 0)).toBe(1);
  });

  it('averages the rate over a snapshot of a gigabyte', () => {
    const throttle = new TakingThrottle();
    const slice = 128 * 1024;
    let restedMs = 0;
    for (let bytes = 0; bytes < 2 ** 30; bytes += slice) restedMs += throttle.restMsAfter(slice, 0.1);
    const throttledMs = (2 ** 30 - UNTHROTTLED_BYTES) / TAKEN_BYTES_PER_MS;
    const prefixMs = (UNTHROTTLED_BYTES / slice) * 0.1 * UNTHROTTLED_REST_FACTOR;
    expect(restedMs).toBeCloseTo(throttledMs + prefixMs, 3);
  });
});
