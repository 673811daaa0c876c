import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tornPieces } from '../../../src/targets/live/disks/torn-write.ts';

/** Draws these, again and again. */
function cycle(draws: readonly number[]): () => number {
  let next = 0;
  return () => draws[next++ % draws.length] ?? 0;
}

describe('a write that a power failure tears', () => {
  it('leaves some of its sectors and not all, each whole and at its place', () => {
    const draws = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(fc.nat(5_000), fc.integer({ min: 513, max: 9_000 }), draws, (position, length, random) => {
        const bytes = Uint8Array.from({ length }, (_, at) => (position + at) % 251);
        const pieces = tornPieces(position, bytes, cycle(random));
        const written = pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
        expect(written).toBeGreaterThan(0);
        expect(written).toBeLessThan(length);
        for (const piece of pieces) {
          const at = piece.position - position;
          expect(piece.bytes).toEqual(bytes.subarray(at, at + piece.bytes.length));
          expect(Math.floor(piece.position / 512)).toBe(Math.floor((piece.position + piece.bytes.length - 1) / 512));
          if (at > 0) expect(piece.position % 512).toBe(0);
        }
      }),
    );
  });

  it('is as if it had not been made when it lies within one sector', () => {
    expect(tornPieces(512, new Uint8Array(512), () => 0)).toEqual([]);
    expect(tornPieces(511, new Uint8Array(2), () => 0)).toHaveLength(1);
  });
});
