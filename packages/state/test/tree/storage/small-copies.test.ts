import { describe, expect, test } from 'vitest';
import { copyBytes } from '../../../src/tree/storage/small-copies.ts';

/** Bytes that differ from their neighbours and from those of another seed. */
function bytesOf(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 7 + seed) & 0xff);
}

describe('copies of a few bytes', () => {
  test('are what a slice is, whatever their length, and stay so when the original and other copies change', () => {
    const originals = Array.from({ length: 300 }, (_, at) => bytesOf((at * 37) % 2_000, at));
    const copies = originals.map((original) => copyBytes(original, original.length >> 2, original.length));
    const expected = originals.map((original) => original.slice(original.length >> 2));
    for (const original of originals) original.fill(0xff);
    expect(copies).toEqual(expected);
    copies[100]?.fill(0);
    expect(copies.filter((_, at) => at !== 100)).toEqual(expected.filter((_, at) => at !== 100));
  });

  test('share the memory of a slab while they are short, and a long one has its own', () => {
    const short = Array.from({ length: 20 }, () => copyBytes(bytesOf(100, 1), 0, 100));
    expect(new Set(short.map(({ buffer }) => buffer)).size).toBeLessThanOrEqual(2);
    const long = copyBytes(bytesOf(1_500, 2), 0, 1_025);
    expect(long.buffer.byteLength).toBe(1_025);
  });
});
