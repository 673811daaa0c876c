import { describe, expect, it } from 'vitest';

import { formatAge, renderTable } from '../../src/output/table.ts';
import { printableLines } from '../../src/output/text.ts';

describe('a table', () => {
  it('is as wide as its widest cells and has no trailing spaces', () => {
    expect(printableLines(renderTable(['A', 'LONG'], [['wide', 'x'], ['y']]))).toBe('A     LONG\nwide  x\ny\n');
  });

  it('shows control characters that servers tell as escapes', () => {
    expect(printableLines(renderTable(['NAME'], [['a\u001b[2J\nb']]))).toBe('NAME\na\\u001b[2J\\u000ab\n');
  });
});

describe('an age', () => {
  it.for([
    [0, '0s'],
    [119_999, '119s'],
    [120_000, '2m'],
    [7_200_000, '2h'],
    [172_800_000, '2d'],
  ] as const)('of %i ms is %s', ([ms, text]) => {
    expect(formatAge(1_000, 1_000 + ms)).toBe(text);
  });

  it('is never negative, though clocks of machines differ', () => {
    expect(formatAge(5_000, 1_000)).toBe('0s');
  });
});
