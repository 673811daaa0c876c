import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ByteSlab, type CellReference } from '../../../src/tree/storage/byte-slab.ts';

interface Kept {
  readonly cell: CellReference;
  readonly length: number;
  readonly value: number;
}

function keep(slab: ByteSlab, length: number, value: number): Kept {
  const cell = slab.allocate(length);
  const offset = slab.offset(cell);
  slab.bytes(cell).fill(value, offset, offset + length);
  return { cell, length, value };
}

function isWhole(slab: ByteSlab, { cell, length, value }: Kept): boolean {
  const offset = slab.offset(cell);
  const bytes = slab.bytes(cell).subarray(offset, offset + length);
  return bytes.length === length && bytes.every((byte) => byte === value);
}

describe('a byte slab', () => {
  it('keeps what is in a cell apart from all others, whatever is freed and taken again', () => {
    const length = fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 1_100 }), fc.constantFrom(0, 16, 17, 1_024, 1_025));
    const change = fc.oneof(fc.record({ length }), fc.record({ free: fc.nat() }));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        const slab = new ByteSlab();
        const kept: Kept[] = [];
        for (const [at, it] of changes.entries()) {
          if ('length' in it) {
            kept.push(keep(slab, it.length, at % 256));
          } else if (kept.length > 0) {
            const [gone] = kept.splice(it.free % kept.length, 1);
            if (gone !== undefined) slab.free(gone.cell, gone.length);
          }
        }
        expect(kept.filter((cell) => !isWhole(slab, cell))).toEqual([]);
        expect(new Set(kept.map(({ cell }) => cell)).size).toBe(kept.length);
      }),
      { numRuns: 200 },
    );
  });

  it('takes a freed cell again before it takes more memory', () => {
    const slab = new ByteSlab();
    for (const length of [1, 100, 1_024, 5_000]) {
      const first = keep(slab, length, 1);
      keep(slab, length, 2);
      slab.free(first.cell, length);
      expect(slab.allocate(length)).toBe(first.cell);
    }
  });
});
