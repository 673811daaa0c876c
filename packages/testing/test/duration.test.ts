import { describe, expect, it } from 'vitest';
import { toMilliseconds } from '../src/duration.ts';

describe('a duration', () => {
  it('is a number of milliseconds, or text with a unit', () => {
    expect([0, 20, '250ms', '10s', '1.5s', '2m', '1h'].map((each) => toMilliseconds(each as never))).toEqual([
      0, 20, 250, 10_000, 1_500, 120_000, 3_600_000,
    ]);
  });

  it.each([-1, NaN, Infinity, '10', 's', '10 s', '1d', '-1s', '1001h', undefined])('is not %s', (wrong) => {
    expect(() => toMilliseconds(wrong as never)).toThrow(
      "give milliseconds, or text such as '250ms', '10s', '2m', '1h'",
    );
  });
});
