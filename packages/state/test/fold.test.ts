import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Fold } from '../src/fold.ts';

function foldOf(values: readonly number[]): number {
  const fold = new Fold();
  for (const value of values) fold.mix(value);
  return fold.value;
}

describe('a fold', () => {
  it('tells apart sequences that differ in one value, wherever and in whichever bit it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        fc.nat(52),
        (values, where, bit) => {
          const position = where % values.length;
          const changed = values.with(position, flipBit(values[position] ?? 0, bit));
          expect(foldOf(changed)).not.toBe(foldOf(values));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('tells apart orders', () => {
    expect(foldOf([1, 2])).not.toBe(foldOf([2, 1]));
    expect(foldOf([0, 0])).not.toBe(foldOf([0]));
  });

  it('depends in each bit on every bit of a value, as soon as another value has followed', () => {
    const bits = Array.from({ length: 53 }, (_, bit) => bit);
    const rounds = 200;
    for (const flipped of bits) {
      const turned = bits.map(() => 0);
      for (let round = 0; round < rounds; round += 1) {
        // Any values will do.
        const [before, value] = [round * 7_919, round * 104_729_371_433];
        const [one, other] = [foldOf([before, value, 7]), foldOf([before, flipBit(value, flipped), 7])];
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
    const fold = new Fold();
    const seen = new Set<number>();
    for (let round = 0; round < 200_000; round += 1) {
      fold.mix(0);
      seen.add(fold.value);
    }
    expect(seen.size).toBe(200_000);
  });
});

function flipBit(value: number, bit: number): number {
  return Number(BigInt(value) ^ (1n << BigInt(bit)));
}
