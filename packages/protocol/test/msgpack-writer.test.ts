import fc, { type Arbitrary } from 'fast-check';
import { Packr } from 'msgpackr';
import { describe, expect, it } from 'vitest';

import { pack, type Packable } from '../src/index.ts';
import { text } from './support/arbitrary-of.ts';

const packr = new Packr({ useRecords: false, moreTypes: false });
const SLAB_BYTES = 8 * 1024;

/** Either side of every place where the form of a number or a head changes. */
const EDGES = [0, 0x1f, 0x20, 0x7f, 0x80, 0xff, 0x1_00, 0xff_ff, 0x1_00_00, 0xffff_ffff, 0x1_0000_0000, 2 ** 53 - 1];
const SHORT_EDGES = EDGES.filter((edge) => edge <= 0x1_00_00);

const { value } = fc.letrec<{ value: Packable; tuple: Packable[] }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(fc.constantFrom(...EDGES.flatMap((edge) => [edge, -edge, -edge - 1])), fc.double(), fc.maxSafeInteger()),
    text(300),
    fc.boolean(),
    fc.uint8Array({ maxLength: 300 }),
    tie('tuple'),
  ) as Arbitrary<Packable>,
  tuple: fc.array(tie('value'), { maxLength: 20 }),
}));

function plain(bytes: Uint8Array): number[] {
  return [...bytes];
}

describe('what is packed', () => {
  it('has the bytes that msgpackr writes', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(plain(pack(each))).toEqual(plain(packr.pack(each)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['text', (length: number) => 'x'.repeat(length)],
    ['text of two bytes a unit', (length: number) => 'ü'.repeat(length)],
    ['text that ends in another character', (length: number) => `${'x'.repeat(Math.max(0, length - 1))}中`],
    ['bytes', (length: number) => new Uint8Array(length).fill(7)],
    ['a tuple', (length: number) => Array.from({ length }, () => 1)],
  ])('has them where the head of %s changes', (_, make) => {
    for (const length of SHORT_EDGES.flatMap((edge) => [edge, edge + 1])) {
      const made = make(length);
      expect(Buffer.compare(pack(made), packr.pack(made))).toBe(0);
    }
  });

  it('stays as it was while others are packed, wherever a slab ends', () => {
    const lengths = [1, 30, 3_000, SLAB_BYTES - 3, SLAB_BYTES, 5 * SLAB_BYTES, 100];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...lengths), { minLength: 1, maxLength: 40 }), (sizes) => {
        const values = sizes.map((size, n): Packable => [n, [new Uint8Array(size).fill(n), 'x'.repeat(size)], -n]);
        const packed = values.map(pack);
        packed.forEach((bytes, n) => expect(Buffer.compare(bytes, packr.pack(values[n]))).toBe(0));
      }),
      { numRuns: 50 },
    );
  });

  it('keeps no more memory than a slab, or twice what it takes', () => {
    for (const size of [1, SLAB_BYTES, 100 * SLAB_BYTES]) {
      const packed = pack([new Uint8Array(size), 1]);
      expect(packed.buffer.byteLength).toBeLessThanOrEqual(Math.max(SLAB_BYTES, 2 * packed.length + 16));
    }
  });
});
