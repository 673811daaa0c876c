import { describe, expect, it } from 'vitest';

import { DataSlabs } from '../../src/snapshot/data-slabs.ts';

describe('data of restored nodes', () => {
  it('are copies of their own, whatever their sizes', () => {
    const slabs = new DataSlabs();
    const source = Uint8Array.from({ length: 3_000 }, (_, n) => n % 251);
    const ranges = [0, 1, 100, 1_024, 1_025, 3_000].flatMap((length) => Array.from({ length: 40 }, () => length));
    const copies = ranges.map((length) => slabs.copy(source, 0, length));
    const before = source.slice();
    source.fill(0xff);
    copies.forEach((copy, n) => expect(copy).toEqual(before.subarray(0, ranges[n])));
  });

  it('keep little else alive', () => {
    const copy = new DataSlabs().copy(new Uint8Array(1_000_000), 7, 107);
    expect(copy.buffer.byteLength).toBeLessThanOrEqual(16 * 1024);
  });
});
