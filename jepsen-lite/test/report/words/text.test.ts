import { describe, expect, it } from 'vitest';

import { MAX_TEXT } from '../../../src/report/limits.ts';
import { byName, quoted, visible } from '../../../src/report/words/text.ts';

describe('a text of a history', () => {
  it('shows control characters by their pictures', () => {
    expect(visible('a\nb\u0000\u007f')).toBe('a␊b␀␡');
  });

  it('shows what hides or turns the line around by its number', () => {
    expect(visible('x\u202Ey\u200b\u00a0')).toBe('x\\u202ey\\u200b\\u00a0');
    expect(visible('\ud800')).toBe('\\ud800');
    expect(visible('schön 🎉')).toBe('schön 🎉');
  });

  it('is cut when it is long', () => {
    expect(visible('x'.repeat(MAX_TEXT + 5))).toBe(`${'x'.repeat(MAX_TEXT)}…`);
  });

  it('stands in quotes, and is told apart from nothing', () => {
    expect([quoted('nothing'), quoted(null)]).toEqual(['“nothing”', 'nothing']);
  });
});

describe('names', () => {
  it('are sorted as people count', () => {
    expect(['c10', 'c2', 'c1', 'b', 'c2a'].toSorted(byName)).toEqual(['b', 'c1', 'c2', 'c2a', 'c10']);
  });
});
