import { describe, expect, it } from 'vitest';

import { difference } from '../../src/properties/observation/difference.ts';

describe('the difference of two values', () => {
  it.each([
    ['equal records', { a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, undefined],
    ['equal maps', new Map([['a', { b: 1 }]]), new Map([['a', { b: 1 }]]), undefined],
    ['a field', { a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, ' a 1 b: 2 is not 3'],
    ['a field too few', { a: 1 }, { a: 1, b: 2 }, ' b: is missing, not 2'],
    ['a field too many', { a: 1, b: 2 }, { a: 1 }, ' b: 2 is not undefined'],
    ['a list', { a: [1] }, { a: [1, 2] }, ' a: [1] is not [1,2]'],
    ['a value of a map', new Map([['a', { b: 1 }]]), new Map([['a', { b: 2 }]]), ' a b: 1 is not 2'],
    ['a key of a map', new Map([['a', 1]]), new Map([['b', 1]]), 'keys 0: "a" is not "b"'],
    [
      'the order of a map',
      new Map([
        [1, 1],
        [2, 2],
      ]),
      new Map([
        [2, 2],
        [1, 1],
      ]),
      'keys 0: 1 is not 2',
    ],
    ['a type', { a: null }, { a: {} }, ' a: null is not {}'],
  ])('shows %s', (_what, left, right, expected) => {
    expect(difference(left, right)).toBe(expected);
  });
});
