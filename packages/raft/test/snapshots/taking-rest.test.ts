import { describe, expect, it } from 'vitest';
import {
  BRISK_BYTES,
  BRISK_REST_FACTOR,
  SLICE_REST_FACTOR,
  TAKEN_BYTES_PER_MS,
} from '../../src/snapshots/snapshot-options.ts';
import { TakingRest } from '../../src/snapshots/taking-rest.ts';

/** Of a snapshot that is past its brisk bytes. */
function pacedRest(): TakingRest {
  const rest = new TakingRest();
  rest.after(BRISK_BYTES, 0);
  return rest;
}

describe('the rest after a slice', () => {
  it('is for the event loop alone, up to the last brisk byte', () => {
    const rest = new TakingRest();
    expect(rest.after(BRISK_BYTES - 1, 3)).toBe(3 * BRISK_REST_FACTOR);
    expect(rest.after(1, 5)).toBe(5 * BRISK_REST_FACTOR);
  });

  it('is longer from the first byte behind them', () => {
    expect(pacedRest().after(1, 3)).toBe(3 * SLICE_REST_FACTOR);
  });

  it('gives the disk what the bytes are worth, where the slice took less', () => {
    expect(pacedRest().after(8 * TAKEN_BYTES_PER_MS, 0.5)).toBe(8);
  });

  it('gathers for the disk where slices are small', () => {
    const rest = pacedRest();
    const rests = Array.from({ length: 6 }, () => rest.after(TAKEN_BYTES_PER_MS / 2, 0));
    expect(rests).toEqual([0, 1, 0, 1, 0, 1]);
  });

  it('owes the disk nothing for time that the event loop was given', () => {
    const rest = pacedRest();
    expect(rest.after(8 * TAKEN_BYTES_PER_MS, 4)).toBe(4 * SLICE_REST_FACTOR);
    expect(rest.after(TAKEN_BYTES_PER_MS, 0)).toBe(1);
  });

  it('averages the pace over a snapshot of a gigabyte', () => {
    const rest = new TakingRest();
    const slice = 128 * 1024;
    let restedMs = 0;
    for (let bytes = 0; bytes < 2 ** 30; bytes += slice) restedMs += rest.after(slice, 0.1);
    const paced = (2 ** 30 - BRISK_BYTES) / TAKEN_BYTES_PER_MS;
    const brisk = (BRISK_BYTES / slice) * 0.1 * BRISK_REST_FACTOR;
    expect(restedMs).toBeCloseTo(paced + brisk, 3);
  });
});
