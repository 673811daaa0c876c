import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { compareText, utf8Length } from '../src/text.ts';
import { bytes } from './support/solo.ts';

describe('text', () => {
  it('has the length that its UTF-8 bytes have, halves of pairs included', () => {
    const unit = fc.constantFrom('a', 'ü', '中', '\u{1f512}', '\ud83d', '\udd12', '\u0000', '\uffff');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        expect(utf8Length(text)).toBe(bytes(text).length);
      }),
    );
  });

  it('is compared as the default sort compares it', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (texts) => {
        expect(texts.toSorted(compareText)).toEqual(texts.toSorted());
      }),
    );
  });
});
