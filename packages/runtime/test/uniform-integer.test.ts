import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Random } from '../src/index.ts';
import { nodeRandom } from '../src/node/index.ts';
import { randomStream } from '../src/sim/index.ts';
import { uniformInteger } from '../src/uniform-integer.ts';

describe('a uniform integer', () => {
  it('favours no value: the incomplete last multiple of the bound is drawn again', () => {
    const drawn = [2 ** 53 - 1, 2 ** 53 - 2, 7];
    // 2^53 mod 3 is 2: the two largest values would favour 0 and 1.
    expect(uniformInteger(3, () => drawn.shift() ?? 0)).toBe(1);
    expect(drawn).toEqual([]);
  });

  it('refuses bounds that are no integers from 1 to 2^53', () => {
    for (const bound of [0, -1, 1.5, NaN, 2 ** 53 + 2])
      expect(() => uniformInteger(bound, () => 0)).toThrow(RangeError);
  });
});

describe.each<[string, () => Random]>([
  ['the system', nodeRandom],
  ['a simulation', () => randomStream(1, 'test')],
])('the randomness of %s', (_name, create) => {
  it('stays in its bounds', () => {
    const random = create();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 53 - 1 }), (bound) => {
        const integer = random.integer(bound);
        expect(Number.isSafeInteger(integer) && integer >= 0 && integer < bound).toBe(true);
        const next = random.next();
        expect(next >= 0 && next < 1).toBe(true);
      }),
    );
    expect(random.integer(2 ** 53)).toBeLessThan(2 ** 53);
  });

  it('reaches every value of a small bound, and differs from draw to draw', () => {
    const random = create();
    const seen = new Set(Array.from({ length: 500 }, () => random.integer(10)));
    expect(seen.size).toBe(10);
    expect(random.bytes(16)).toHaveLength(16);
    expect(random.bytes(16)).not.toEqual(random.bytes(16));
    expect(random.bytes(16).constructor).toBe(Uint8Array);
  });
});

describe('streams of a seed', () => {
  it('are the same for the same seed and name, and independent otherwise', () => {
    const draws = (seed: number | string, name: string) => {
      const random = randomStream(seed, name);
      return Array.from({ length: 5 }, () => random.next()).join();
    };
    expect(draws(1, 'a')).toBe(draws(1, 'a'));
    expect(new Set([draws(1, 'a'), draws(2, 'a'), draws(1, 'b'), draws(12, 'a'), draws('x', 'a')]).size).toBe(5);
  });
});
