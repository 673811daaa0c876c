import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryType, entryBytes, logIndex, term, type Entry } from '../../src/core/index.ts';
import { LogGauge } from '../../src/snapshots/log-gauge.ts';

const MARKS = 16;

function entry(index: number, dataBytes: number): Entry {
  return { index: logIndex(index), term: term(1), type: EntryType.command, data: new Uint8Array(dataBytes) };
}

/** Of an entry that has so many bytes of data. */
const bytesOf = (dataBytes: number): number => entryBytes(entry(1, dataBytes));

describe('a gauge of the log', () => {
  it('marks every entry of exactly the precision', () => {
    const each = bytesOf(100);
    const gauge = new LogGauge(MARKS * each);
    for (let index = 1; index <= 40; index += 1) gauge.applied(entry(index, 100));
    expect(gauge.bytes).toBe(40 * each);
    for (const back of [1, 2, 16, 39]) expect(gauge.indexBefore(gauge.bytes, back * each)).toBe(40 - back);
    expect(gauge.indexBefore(gauge.bytes, 40 * each)).toBe(0);
  });

  it('finds an index at least so far back, and not much farther', () => {
    const sizes = fc.array(fc.nat({ max: 500 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: MARKS, max: 20_000 }), fc.nat(), (dataBytes, trailing, drawn) => {
        const gauge = new LogGauge(trailing);
        const sums = [0];
        for (const [at, bytes] of dataBytes.entries()) {
          gauge.applied(entry(at + 1, bytes));
          sums.push(gauge.bytes);
        }
        const atBytes = sums[drawn % sums.length] ?? 0;
        const found = sums[gauge.indexBefore(atBytes, trailing)] ?? Infinity;
        expect(found).toBeLessThanOrEqual(Math.max(0, atBytes - trailing));
        const best = Math.max(...sums.filter((sum) => sum <= atBytes - trailing), 0);
        expect(best - found).toBeLessThan(Math.floor(trailing / MARKS) + bytesOf(500));
      }),
    );
  });

  it('forgets marks, and still knows the one that is asked for next', () => {
    const each = bytesOf(100);
    const gauge = new LogGauge(MARKS * each);
    for (let index = 1; index <= 20; index += 1) gauge.applied(entry(index, 100));
    gauge.forget(logIndex(10));
    expect(gauge.indexBefore(gauge.bytes, 9 * each)).toBe(11);
    expect(gauge.indexBefore(gauge.bytes, 10 * each)).toBe(10);
    expect(gauge.indexBefore(gauge.bytes, 11 * each)).toBe(0);
    gauge.forget(logIndex(30));
    expect(gauge.indexBefore(gauge.bytes, 0)).toBe(20);
  });
});
