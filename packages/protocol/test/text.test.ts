import { describe, expect, it } from 'vitest';

import { MAX_UTF8_BYTES_PER_UNIT, MalformedError, readText, writeText } from '@holdfast/protocol';

const AT = 3;

function written(text: string): Uint8Array {
  const bytes = new Uint8Array(AT + text.length * MAX_UTF8_BYTES_PER_UNIT);
  return bytes.slice(0, writeText(text, bytes, AT));
}

describe('a text', () => {
  it.each([
    '',
    'a',
    'node-00000001',
    'x'.repeat(64),
    'x'.repeat(65),
    'ü',
    'a漢',
    '\ufeffa',
    '😀',
    `${'x'.repeat(70)}é`,
  ])('is what it was: %j', (text) => {
    const bytes = written(text);
    expect(bytes.subarray(AT)).toEqual(new TextEncoder().encode(text));
    expect(readText(bytes, AT, bytes.length)).toBe(text);
  });

  it('has U+FFFD for half a surrogate pair', () => {
    const bytes = written('a\ud83d');
    expect(readText(bytes, AT, bytes.length)).toBe('a\ufffd');
  });

  it.each([[[0x80]], [[0x61, 0xc3]], [[0xed, 0xa0, 0x80]], [[0xc0, 0x80]], [[...new Uint8Array(80).fill(0x61), 0xff]]])(
    'is not made of %j',
    (bytes) => {
      expect(() => readText(Uint8Array.from(bytes), 0, bytes.length)).toThrow(MalformedError);
    },
  );
});
