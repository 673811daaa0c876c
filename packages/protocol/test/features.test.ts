import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  CLIENT_FEATURES,
  ClientFeature,
  commonFeatures,
  commonVersion,
  describeVersions,
  describeFeatures,
  hasFeature,
  missingFeatures,
} from '../src/index.ts';

const bits = fc.uniqueArray(fc.integer({ min: 0, max: 52 }), { maxLength: 53 });
const toSet = (list: readonly number[]) => list.reduce((set, bit) => set + 2 ** bit, 0);
const sorted = (list: readonly number[]) => list.toSorted((a, b) => a - b);

describe('a set of features', () => {
  it('is intersected and subtracted bit by bit, above the 32nd as well', () => {
    fc.assert(
      fc.property(bits, bits, (a, b) => {
        expect(commonFeatures(toSet(a), toSet(b))).toBe(toSet(a.filter((bit) => b.includes(bit))));
        expect(missingFeatures(toSet(a), toSet(b))).toBe(toSet(a.filter((bit) => !b.includes(bit))));
      }),
    );
  });

  it('is told by its bits', () => {
    fc.assert(
      fc.property(bits, (list) => {
        expect(describeFeatures(toSet(list)).replace(/^bits? /, '')).toBe(sorted(list).join(', ') || 'none');
      }),
    );
  });

  it('has a feature or not', () => {
    expect(hasFeature(CLIENT_FEATURES, ClientFeature.leave)).toBe(true);
    expect(hasFeature(ClientFeature.admin, ClientFeature.leave)).toBe(false);
    expect(hasFeature(CLIENT_FEATURES, 0)).toBe(false);
  });

  it('has bits that never change', () => {
    expect(ClientFeature).toEqual({
      leave: 1,
      admin: 2,
      members: 4,
      outage: 8,
      pages: 16,
      watches: 32,
      floors: 64,
      deadlocks: 128,
    });
  });
});

describe('the version that both sides speak', () => {
  it.each([
    [1, 1, 1, 1, 1],
    [1, 5, 3, 9, 5],
    [3, 9, 1, 5, 5],
    [1, 9, 4, 4, 4],
    [1, 2, 3, 4, undefined],
    [3, 4, 1, 2, undefined],
  ])('of %s to %s and %s to %s is %s', (lowest, highest, theirLowest, theirHighest, expected) => {
    expect(commonVersion({ lowest, highest }, { lowest: theirLowest, highest: theirHighest })).toBe(expected);
  });

  it('is named where there is none', () => {
    expect(describeVersions({ lowest: 2, highest: 2 })).toBe('version 2');
    expect(describeVersions({ lowest: 2, highest: 4 })).toBe('versions 2 to 4');
  });
});
