import { describe, expect, it } from 'vitest';

import { compare, sum } from '../../../src/own/resume/comparison.ts';

const CHANGED = [3, 5, 9, 12];

describe('what a watch has told, compared with what was changed', () => {
  it.each([
    ['everything, once', [3, 5, 9, 12], 0, 0],
    ['nothing', [], 4, 0],
    ['not the last', [3, 5, 9], 1, 0],
    ['not the first', [5, 9, 12], 1, 0],
    ['neither of two in the middle', [3, 12], 2, 0],
    ['one again', [3, 5, 5, 9, 12], 0, 1],
    ['all again', [3, 5, 9, 12, 3, 5, 9, 12], 0, 4],
    ['what was no change', [3, 4, 5, 9, 12, 13], 0, 2],
    ['one behind a later one', [3, 9, 5, 12], 1, 1],
  ])('tells of %s', (_, told, missed, surplus) => {
    expect(compare(CHANGED, told)).toEqual({ told: told.length, missed, surplus });
  });

  it('is added up over all watches', () => {
    const all = [compare(CHANGED, CHANGED), compare(CHANGED, [3]), compare([], [7])];
    expect(sum(all)).toEqual({ told: 6, missed: 3, surplus: 1 });
  });
});
