import { MalformedError } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryType, logIndex, term, type Entry } from '../../../src/core/types.ts';
import {
  decodeEntries,
  encodeEntries,
  entryBlockBytes,
  writeEntries,
} from '../../../src/log-store/format/entry-block.ts';

const MAX = Number.MAX_SAFE_INTEGER;

const entries = fc
  .tuple(
    fc.integer({ min: 1, max: MAX - 100 }),
    fc.array(
      fc.record({
        term: fc.integer({ min: 1, max: MAX }),
        type: fc.constantFrom(EntryType.noop, EntryType.command, EntryType.configuration),
        data: fc.uint8Array({ maxLength: 40 }),
      }),
      { maxLength: 20 },
    ),
  )
  .map(([first, bodies]): Entry[] =>
    bodies.map((body, at) => ({
      index: logIndex(first + at),
      term: term(body.term),
      type: body.type,
      data: body.data,
    })),
  );

function one(data: Uint8Array): Uint8Array {
  return encodeEntries([{ index: logIndex(1), term: term(1), type: EntryType.command, data }]);
}

describe('an entry block', () => {
  it('gives back the entries that went in', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const block = encodeEntries(list);
        expect(block.length).toBe(entryBlockBytes(list));
        expect(decodeEntries(block, list[0]?.index ?? logIndex(1))).toEqual(list);
      }),
    );
  });

  it('is written in place, in the middle of a larger buffer', () => {
    const target = new Uint8Array(40).fill(0xee);
    const list: Entry[] = [{ index: logIndex(7), term: term(3), type: EntryType.noop, data: new Uint8Array([1, 2]) }];
    const end = writeEntries(target.subarray(5), 3, list);
    expect(end).toBe(3 + entryBlockBytes(list));
    expect(decodeEntries(target.subarray(8, 5 + end), logIndex(7))).toEqual(list);
    expect(target.subarray(5 + end).every((byte) => byte === 0xee)).toBe(true);
    expect(target.subarray(0, 8).every((byte) => byte === 0xee)).toBe(true);
  });

  it('gives plain byte arrays even out of a Buffer, so that slice copies', () => {
    const block = Buffer.from(one(new Uint8Array([1, 2, 3])));
    const data = decodeEntries(block, logIndex(1))[0]?.data;
    const copy = data?.slice();
    block.fill(0);
    expect(copy).toEqual(new Uint8Array([1, 2, 3]));
  });

  it('is refused when it was cut anywhere but between entries', () => {
    const block = one(new Uint8Array([1, 2, 3]));
    for (let length = 1; length < block.length; length += 1) {
      expect(() => decodeEntries(block.subarray(0, length), logIndex(1)), `length ${length}`).toThrow(MalformedError);
    }
  });

  it('is refused when a field is not what it must be', () => {
    const unknownType = one(new Uint8Array(0));
    unknownType[4] = 9;
    expect(() => decodeEntries(unknownType, logIndex(1))).toThrow('entry 1 has the unknown type 9');
    for (const bad of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53]) {
      const block = one(new Uint8Array(0));
      new DataView(block.buffer).setFloat64(5, bad, true);
      expect(() => decodeEntries(block, logIndex(1)), `term ${bad}`).toThrow(MalformedError);
    }
    expect(() => decodeEntries(one(new Uint8Array(0)), logIndex(0))).toThrow(MalformedError);
    expect(() =>
      decodeEntries(
        encodeEntries(
          [...Array(2)].map(() => ({
            index: logIndex(1),
            term: term(1),
            type: EntryType.noop,
            data: new Uint8Array(0),
          })),
        ),
        logIndex(MAX),
      ),
    ).toThrow(MalformedError);
  });

  it('never throws anything else, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeEntries(bytes, logIndex(1));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
    );
  });
});
