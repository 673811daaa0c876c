import { describe, expect, it } from 'vitest';

import { barChart } from '../../src/report/bar-chart.ts';

describe('a bar chart', () => {
  it('draws the best of each group at the same length, whatever its unit of size', () => {
    const svg = barChart('A & B', 'x/s', [
      { label: 'small', bars: [{ system: 'holdfast', median: 2, min: 1, max: 2 }] },
      { label: 'large', bars: [{ system: 'etcd', median: 2_000, min: 1_000, max: 2_000 }] },
    ]);
    const widths = [...svg.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => width);
    expect(widths).toEqual(['560.0', '560.0']);
    expect(svg).toContain('A &amp; B (x/s)');
    expect(svg).toContain('>2,000</text>');
  });
});
