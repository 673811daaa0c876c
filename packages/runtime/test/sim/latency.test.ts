import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { naturalLogarithm } from '../../src/sim/network/latency.ts';

describe('the logarithm that latencies are drawn with', () => {
  it('is that of mathematics, to nine digits', () => {
    fc.assert(
      fc.property(fc.double({ min: 2 ** -60, max: 1, noNaN: true, minExcluded: true }), (value) => {
        expect(Math.abs(naturalLogarithm(value) - Math.log(value))).toBeLessThan(1e-9);
      }),
    );
    expect(naturalLogarithm(1)).toBe(0);
  });
});
