import { describe, expect, it } from 'vitest';

import { Latencies } from '../../src/generator/latencies.ts';

describe('latencies', () => {
  it('have percentiles: the smallest value that the share does not exceed', () => {
    const latencies = new Latencies();
    for (let ms = 100; ms >= 1; ms -= 1) latencies.add(ms);
    expect(latencies.percentile(0.5)).toBe(50);
    expect(latencies.percentile(0.99)).toBe(99);
    expect(latencies.percentile(1)).toBe(100);
  });

  it('have none when there were none, and forget a window that is over', () => {
    const latencies = new Latencies();
    expect(latencies.percentile(0.5)).toBeNull();
    latencies.add(1);
    latencies.clear();
    latencies.add(3);
    expect(latencies.percentile(0.5)).toBe(3);
  });

  it('keep the newest when there are more than fit', () => {
    const latencies = new Latencies();
    for (let n = 0; n < 200_000; n += 1) latencies.add(n < 100_000 ? 1 : 2);
    expect(latencies.percentile(0.5)).toBe(2);
  });
});
