import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MalformedError, pack, unpackTuple, type Packable, type TupleReader } from '../src/index.ts';
import { text } from './support/arbitrary-of.ts';
import { float64, hostileValues, joined, rawString, rawTuple, withExtraField } from './support/raw.ts';

const one = Uint8Array.of(1);

function fieldOf(bytes: Uint8Array): TupleReader {
  return unpackTuple(rawTuple(bytes), 'test');
}

function integerOf(bytes: Uint8Array): number {
  return fieldOf(bytes).integer('field');
}

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedError);
    return (error as MalformedError).message;
  }
  throw new Error('was accepted');
}

describe('a packed tuple', () => {
  it('gives back what went in, whatever surrounds its bytes', () => {
    fc.assert(
      fc.property(text(300), fc.uint8Array(), fc.boolean(), fc.nat({ max: 9 }), (string, bytes, flag, shift) => {
        const packed = pack([string, bytes, [flag, [shift]], -shift]);
        const within = new Uint8Array(packed.length + 2 * shift).fill(0xc1);
        within.set(packed, shift);
        const end = shift + packed.length;
        for (const reader of [
          unpackTuple(within.subarray(shift, end), 'test'),
          unpackTuple(within.subarray(0, end), 'test', shift),
        ]) {
          expect(reader.string('string', 300)).toBe(string);
          expect(Buffer.compare(reader.bytes('bytes', 100), bytes)).toBe(0);
          const inner = reader.tuple('inner');
          expect(inner.boolean('flag')).toBe(flag);
          expect(inner.tuple('innermost').integer('shift')).toBe(shift);
          expect(reader.signed('minus')).toBe(0 - shift);
          expect(reader.remaining).toBe(0);
        }
      }),
    );
  });

  it('is read from any kind of byte array', () => {
    const packed = pack(['text', Uint8Array.of(1, 2)]);
    for (const bytes of [Buffer.from(packed), Uint8Array.from(packed)]) {
      const reader = unpackTuple(bytes, 'test');
      expect(reader.string('text', 10)).toBe('text');
      expect([...reader.bytes('bytes', 10)]).toEqual([1, 2]);
    }
  });

  it('turns half of a surrogate pair into U+FFFD, in short texts and in long ones', () => {
    for (const length of [0, 10, 100]) {
      const cut = `${'x'.repeat(length)}\ud83d`;
      const reader = unpackTuple(pack([cut, [cut]]), 'test');
      expect(reader.string('text', 200)).toBe(`${'x'.repeat(length)}\ufffd`);
      expect(reader.tuple('inner').string('text', 200)).toBe(`${'x'.repeat(length)}\ufffd`);
    }
  });
});

describe('a tuple reader', () => {
  it('goes on behind an inner tuple that was read in part, or later', () => {
    const reader = unpackTuple(pack([[1, [2, 'x'], 3], 4, [5, 6], 7]), 'test');
    const first = reader.tuple('first');
    expect(first.integer('one')).toBe(1);
    const nested = first.tuple('nested');
    expect(reader.integer('four')).toBe(4);
    const third = reader.tuple('third');
    expect(reader.integer('seven')).toBe(7);
    expect(nested.integer('two')).toBe(2);
    expect(first.integer('three')).toBe(3);
    expect(third.integer('five')).toBe(5);
    expect([reader.remaining, nested.remaining, first.remaining, third.remaining]).toEqual([0, 1, 0, 1]);
  });

  it('reads the elements of a list one after the other, however much of each was read', () => {
    const list = [[1, ['x', 2], 3], [4], [], [5, [[]]], [6, ['y']]];
    const reader = unpackTuple(pack([list, 'behind']), 'test');
    const read = reader.list('list', (element) => {
      if (element.remaining === 0) return 'none';
      const number = element.integer('number');
      if (number !== 1 && number !== 6) return `${number}`;
      return `${number}${element.tuple('inner').string('text', 1)}`;
    });
    expect(read).toEqual(['1x', '4', 'none', '5', '6y']);
    expect(reader.string('text', 10)).toBe('behind');
    const odd = unpackTuple(pack([[[1], 2]]), 'test');
    expect(refusal(() => odd.list('list', (element) => element.remaining))).toBe('test.list[] is not a tuple');
  });

  it('ignores fields at the end, of lists and their elements, too', () => {
    const bytes = pack([
      [
        [1, 'x', [2]],
        [3, ''],
      ],
      4,
      [],
    ]);
    const reader = unpackTuple(bytes, 'test');
    expect(reader.list('list', (element) => element.integer('number'))).toEqual([1, 3]);
    expect(reader.integer('four')).toBe(4);
  });

  it('names the field that is wrong, and where it is', () => {
    const reader = unpackTuple(pack([[[1], ['x']]]), 'test');
    expect(refusal(() => reader.list('list', (element) => element.integer('number')))).toBe(
      'test.list[].number must be a non-negative integer',
    );
  });

  it('refuses to read past the end', () => {
    const reader = unpackTuple(pack([1]), 'test');
    reader.integer('first');
    expect(refusal(() => reader.integer('second'))).toBe('test.second must be present');
    expect(refusal(() => reader.tuple('third'))).toBe('test.third must be present');
  });

  const readings: Record<string, (reader: TupleReader) => unknown> = {
    integer: (reader) => reader.integer('field'),
    signed: (reader) => reader.signed('field'),
    boolean: (reader) => reader.boolean('field'),
    string: (reader) => reader.string('field', 10),
    bytes: (reader) => reader.bytes('field', 10),
    tuple: (reader) => reader.tuple('field'),
    list: (reader) => reader.list('field', (element) => element.remaining),
    fields: (reader) => reader.fields('field', (element) => element.integer('number')),
  };
  const accepted: readonly (readonly [Packable, readonly string[]])[] = [
    [7, ['integer', 'signed']],
    [-7, ['signed']],
    [1.5, []],
    [true, ['boolean']],
    ['text', ['string']],
    ['eleven char', []],
    [Uint8Array.of(1), ['bytes']],
    [new Uint8Array(11), []],
    [[], ['tuple', 'list', 'fields']],
    [[[]], ['tuple', 'list']],
    [[1], ['tuple', 'fields']],
  ];
  it.each(accepted)('takes %j as what it is and nothing else', (value, as) => {
    const taken = Object.keys(readings).filter((name) => {
      try {
        readings[name]?.(unpackTuple(pack([value]), 'test'));
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedError);
        return false;
      }
    });
    expect(taken).toEqual(as);
  });

  it('takes nil for nothing', () => {
    for (const read of Object.values(readings)) refusal(() => read(fieldOf(Uint8Array.of(0xc0))));
  });
});

describe('a number', () => {
  it('is the same in every encoding that holds it', () => {
    const encodings = [
      [7],
      [0xcc, 7],
      [0xcd, 0, 7],
      [0xce, 0, 0, 0, 7],
      [0xcf, 0, 0, 0, 0, 0, 0, 0, 7],
      [0xd0, 7],
      [0xd1, 0, 7],
      [0xd2, 0, 0, 0, 7],
      [0xd3, 0, 0, 0, 0, 0, 0, 0, 7],
      [0xca, 0x40, 0xe0, 0, 0],
      [...float64(7)],
    ];
    for (const encoding of encodings) expect(integerOf(Uint8Array.from(encoding))).toBe(7);
  });

  it('may be negative in every width, where a field allows it', () => {
    const all = (width: number) => Array.from({ length: width }, () => 0xff);
    for (const encoding of [[0xff], [0xd0, ...all(1)], [0xd1, ...all(2)], [0xd2, ...all(4)], [0xd3, ...all(8)]]) {
      expect(fieldOf(Uint8Array.from(encoding)).signed('field')).toBe(-1);
    }
  });

  it('is up to 2^53 − 1, and refused above, where doubles leave integers out', () => {
    const max = [0x00, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    expect(integerOf(Uint8Array.of(0xcf, ...max))).toBe(Number.MAX_SAFE_INTEGER);
    for (const above of [
      [0xcf, 0x00, 0x20, 0, 0, 0, 0, 0, 0],
      [0xcf, 0x00, 0x20, 0, 0, 0, 0, 0, 1],
      [0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
      [0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0],
    ]) {
      refusal(() => integerOf(Uint8Array.from(above)));
      refusal(() => fieldOf(Uint8Array.from(above)).signed('field'));
    }
  });

  it.each([NaN, Infinity, -Infinity, 0.5, 2 ** 53, 1e300, 5e-324])('is refused when it is %s', (value) => {
    refusal(() => integerOf(float64(value)));
    refusal(() => fieldOf(float64(value)).signed('field'));
  });

  it('is never −0, which would differ from 0 in a map or a digest', () => {
    expect(Object.is(integerOf(float64(-0)), 0)).toBe(true);
    expect(Object.is(fieldOf(float64(-0)).signed('field'), 0)).toBe(true);
  });
});

describe('a text', () => {
  // msgpackr keeps a leading U+FEFF with its native add-on and drops it from long texts without: two servers, two lock names.
  it('keeps a leading U+FEFF, whatever its length', () => {
    for (const length of [0, 10, 30, 100, 200]) {
      const string = `\ufeff${'x'.repeat(length)}`;
      expect(unpackTuple(pack([string]), 'test').string('text', 300)).toBe(string);
    }
  });

  const malformed: Record<string, readonly number[]> = {
    'a lone continuation byte': [0x80],
    'a cut sequence': [0xe4, 0xb8],
    'an overlong slash': [0xc0, 0xaf],
    'an overlong NUL': [0xe0, 0x80, 0x80],
    'half of a surrogate pair': [0xed, 0xa0, 0xbd],
    'a surrogate pair in six bytes': [0xed, 0xa0, 0xbd, 0xed, 0xb4, 0x92],
    'a code point above U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
    'a byte that UTF-8 has not': [0xff],
  };
  // Two decoders may make different texts of it; a replicated log must not depend on which one a server has.
  it.each(Object.entries(malformed))('is refused with %s, at any length', (_, bytes) => {
    for (const length of [0, 20, 100]) {
      const around = Array.from({ length }, () => 0x61);
      const problem = refusal(() => fieldOf(rawString(...around, ...bytes, ...around)).string('field', 1_000));
      expect(problem).toBe('test.field must be well-formed UTF-8');
    }
  });

  it('comes back whole at every short length, ASCII but for one character at any place, or throughout', () => {
    for (let length = 0; length <= 30; length += 1) {
      const ascii = String.fromCharCode(...Array.from({ length }, (_, n) => 0x7f - n));
      expect(fieldOf(pack(ascii)).string('field', 100)).toBe(ascii);
      for (let place = 0; place < length; place += 1) {
        const other = `${ascii.slice(0, place)}\u0080${ascii.slice(place + 1)}`;
        expect(fieldOf(pack(other)).string('field', 100)).toBe(other);
      }
    }
  });

  it('is bounded in UTF-16 units', () => {
    for (const unit of ['x', 'ü', '中']) {
      expect(unpackTuple(pack([unit.repeat(10)]), 'test').string('text', 10)).toHaveLength(10);
      refusal(() => unpackTuple(pack([unit.repeat(11)]), 'test').string('text', 10));
    }
    expect(unpackTuple(pack(['\u{1f512}'.repeat(5)]), 'test').string('text', 10)).toHaveLength(10);
    refusal(() => unpackTuple(pack(['\u{1f512}'.repeat(6)]), 'test').string('text', 10));
  });
});

describe('bytes that are no tuple', () => {
  it.each([...hostileValues])('are refused: %s', (_, bytes) => {
    const problem = /which Holdfast does not use|ends too early|is not a tuple/;
    expect(refusal(() => unpackTuple(bytes, 'test'))).toMatch(problem);
    expect(refusal(() => unpackTuple(rawTuple(bytes), 'test'))).toMatch(problem);
    // Not in what nobody reads, either: what a tuple is must not depend on how much of it a version knows.
    expect(refusal(() => unpackTuple(withExtraField(rawTuple(one), bytes), 'test'))).toMatch(problem);
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });

  it('are refused when something is missing or follows', () => {
    const whole = pack([1, 'text', Uint8Array.of(1, 2, 3), [2 ** 40, -5, true]]);
    unpackTuple(whole, 'test');
    for (let length = 0; length < whole.length; length += 1) {
      expect(refusal(() => unpackTuple(whole.subarray(0, length), 'test'))).toBe('test ends too early');
    }
    expect(refusal(() => unpackTuple(joined(whole, one), 'test'))).toBe('test has 1 bytes behind its end');
  });

  it('are refused when nested deeper than 16, whatever is left of the stack', () => {
    const nested = (depth: number): Packable => (depth === 0 ? 1 : [nested(depth - 1)]);
    unpackTuple(pack(nested(16)), 'test');
    expect(refusal(() => unpackTuple(pack(nested(17)), 'test'))).toBe('test is nested deeper than 16');
    const deep = new Uint8Array(4 * 1024 * 1024).fill(0x91);
    const fromDepth = (calls: number): string =>
      calls === 0 ? refusal(() => unpackTuple(deep, 'test')) : fromDepth(calls - 1);
    expect(fromDepth(0)).toBe('test is nested deeper than 16');
    expect(fromDepth(2_000)).toBe('test is nested deeper than 16');
  });

  it('are refused without formatting them, however many they are', () => {
    const large = new Uint8Array(4 * 1024 * 1024);
    large.set([0xc6, 0x00, 0x3f, 0xff, 0xf0]);
    const before = process.memoryUsage();
    expect(refusal(() => unpackTuple(large, 'test'))).toBe('test has 11 bytes behind its end');
    expect(refusal(() => unpackTuple(large.fill(0x90), 'test'))).toBe('test has 4194303 bytes behind its end');
    const after = process.memoryUsage();
    // Formatting took over 100 MB for these.
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(16 * 1024 * 1024);
  });
});
