import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ByteQueue } from '../../src/snapshot/byte-queue.ts';

describe('a queue of bytes', () => {
  it('gives back what was added, in order, however it grows and is emptied', () => {
    const sizes = fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 5_000 }), fc.nat({ max: 70_000 }));
    const step = fc.oneof(fc.record({ add: sizes }), fc.record({ take: sizes }), fc.record({ skip: sizes }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new ByteQueue();
        let expected = Buffer.alloc(0);
        let next = 0;
        for (const each of steps) {
          if ('add' in each) {
            const bytes = Uint8Array.from({ length: each.add }, () => (next = (next + 7) % 251));
            queue.append(bytes);
            expected = Buffer.concat([expected, bytes]);
          } else if ('take' in each) {
            const taken = queue.take(each.take);
            expect(Buffer.compare(taken, expected.subarray(0, each.take))).toBe(0);
            expected = expected.subarray(taken.length);
          } else {
            const skipped = Math.min(each.skip, queue.length);
            queue.skip(skipped);
            expected = expected.subarray(skipped);
          }
          expect(queue.length).toBe(expected.length);
        }
        expect(Buffer.compare(queue.take(queue.length), expected)).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
