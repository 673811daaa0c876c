import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { StateDigest } from '../src/state-digest.ts';

function digestOf(values: readonly number[]): number {
  const digest = new StateDigest();
  for (const value of values) digest.mix(value);
  return digest.value;
}

describe('a digest', () => {
  it('tells apart sequences that differ in one value, wherever and in whichever bit it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        fc.nat(52),
        (values, where, bit) => {
          const position = where % values.length;
          const changed = values.with(position, flipBit(values[position] ?? 0, bit));
          expect(digestOf(changed)).not.toBe(digestOf(values));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('tells apart orders', () => {
    expect(digestOf([1, 2])).not.toBe(digestOf([2, 1]));
    expect(digestOf([0, 0])).not.toBe(digestOf([0]));
  });

  it('depends in each bit on every bit of a value, as soon as another value has followed', () => {
    const bits = Array.from({ length: 53 }, (_, bit) => bit);
    const rounds = 200;
    for (const flipped of bits) {
      const turned = bits.map(() => 0);
      for (let round = 0; round < rounds; round += 1) {
        // Any values will do.
        const [before, value] = [round * 7_919, round * 104_729_371_433];
        const [one, other] = [digestOf([before, value, 7]), digestOf([before, flipBit(value, flipped), 7])];
        for (const bit of bits)
          if (((BigInt(one) ^ BigInt(other)) >> BigInt(bit)) & 1n) turned[bit] = (turned[bit] ?? 0) + 1;
      }
      for (const count of turned) {
        expect(count / rounds, `bit ${flipped}`).toBeGreaterThan(0.3);
        expect(count / rounds, `bit ${flipped}`).toBeLessThan(0.7);
      }
    }
  });

  it('has no short cycle and no collisions in a long run of equal values', () => {
    const digest = new StateDigest();
    const seen = new Set<number>();
    for (let round = 0; round < 200_000; round += 1) {
      digest.mix(0);
      seen.add(digest.value);
    }
    expect(seen.size).toBe(200_000);
  });
});

function flipBit(value: number, bit: number): number {
  return Number(BigInt(value) ^ (1n << BigInt(bit)));
}
