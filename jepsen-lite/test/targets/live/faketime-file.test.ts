import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aheadMs,
  atRate,
  carriedOver,
  jumped,
  renderFaking,
  TRUE_TIME,
} from '../../../src/targets/live/clocks/faketime-file.ts';

const rate = fc.double({ min: 0.1, max: 10, noNaN: true });
const laterMs = fc.integer({ min: 0, max: 1e7 });
const began = { beganMs: 1e12, ...TRUE_TIME };

describe('a clock that is faked', () => {
  it('does not jump when its rate changes, and gains by that rate from then on', () => {
    fc.assert(
      fc.property(rate, rate, laterMs, laterMs, laterMs, (first, second, a, b, c) => {
        const [firstMs, secondMs] = [1e12 + a, 1e12 + a + b];
        const once = atRate(jumped(began, -5_000), first, firstMs);
        const twice = atRate(once, second, secondMs);
        expect(aheadMs(once, firstMs)).toBeCloseTo(-5_000, 2);
        expect(aheadMs(twice, secondMs)).toBeCloseTo(aheadMs(once, secondMs), 2);
        expect(aheadMs(twice, secondMs + c) - aheadMs(twice, secondMs)).toBeCloseTo(c * (second - 1), 2);
      }),
    );
  });

  it('goes on where it was when its process is started again', () => {
    const drifted = atRate(began, 1.5, 1e12 + 1_000);
    const again = carriedOver(drifted, 1e12 + 11_000);
    expect(aheadMs(again, 1e12 + 11_000)).toBeCloseTo(5_000, 3);
    expect(aheadMs(again, 1e12 + 13_000)).toBeCloseTo(6_000, 3);
  });

  it.each([
    [{ offsetMs: 0, rate: 1 }, '+0.000000 x1.000000000\n'],
    [{ offsetMs: -1_500.25, rate: 0.99 }, '-1.500250 x0.990000000\n'],
    // Never with an exponent, which libfaketime takes for the end of the number.
    [{ offsetMs: 1e-4, rate: 1 + 1e-7 }, '+0.000000 x1.000000100\n'],
  ])('is written for libfaketime: %j', (faking, line) => {
    expect(renderFaking(faking)).toBe(line);
  });
});
