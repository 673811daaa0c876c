import { describe, expect, it } from 'vitest';

import { percentile } from '../src/statistics.ts';

describe('a percentile', () => {
  it('is the smallest value that covers the share', () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.2, 0.21, 0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([1, 1, 2, 3, 5, 5]);
  });

  it('is no number where there are no values', () => {
    expect(percentile([], 0.5)).toBeNaN();
  });
});
