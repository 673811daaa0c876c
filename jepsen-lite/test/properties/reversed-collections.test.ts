import { describe, expect, it } from 'vitest';

import { withReversedCollections } from '../../src/properties/reversed-collections.ts';

describe('a reversed collection', () => {
  it('iterates backwards in every way that there is', () => {
    const { map, set } = withReversedCollections(() => ({
      map: new Map([
        [1, 'a'],
        [2, 'b'],
      ]),
      set: new Set([1, 2]),
    }));
    const visited: unknown[] = [];
    map.forEach((value, key) => visited.push([key, value]));
    set.forEach((value) => visited.push(value));
    expect([[...map], [...map.entries()], [...map.keys()], [...map.values()]]).toEqual([
      [
        [2, 'b'],
        [1, 'a'],
      ],
      [
        [2, 'b'],
        [1, 'a'],
      ],
      [2, 1],
      ['b', 'a'],
    ]);
    expect([[...set], [...set.entries()], [...set.keys()], [...set.values()]]).toEqual([
      [2, 1],
      [
        [2, 2],
        [1, 1],
      ],
      [2, 1],
      [2, 1],
    ]);
    expect(visited).toEqual([[2, 'b'], [1, 'a'], 2, 1]);
  });

  it('is made only while the work runs, also when that throws', () => {
    expect(() =>
      withReversedCollections(() => {
        throw new Error('the work failed');
      }),
    ).toThrow('the work failed');
    expect([
      ...new Map([
        [1, 1],
        [2, 2],
      ]).keys(),
      ...new Set([1, 2]),
    ]).toEqual([1, 2, 1, 2]);
  });
});
