import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MalformedError, pack, unpackTuple } from '../../src/index.ts';
import { stat } from '../../src/messages/stat.ts';
import { stat as anyStat } from '../support/arbitraries.ts';

const ONE_TO_ELEVEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

describe('the stat of a node', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(anyStat, (value) => {
        expect(stat.readTuple(unpackTuple(pack(stat.writeTuple(value)), 'stat'))).toEqual(value);
      }),
    );
  });

  it('has its fields in an order that never changes', () => {
    expect(stat.readTuple(unpackTuple(pack(ONE_TO_ELEVEN), 'stat'))).toEqual({
      czxid: 1,
      mzxid: 2,
      pzxid: 3,
      ctime: 4,
      mtime: 5,
      version: 6,
      cversion: 7,
      aversion: 8,
      ephemeralOwner: 9,
      dataLength: 10,
      numChildren: 11,
    });
  });

  it('may have more fields, and not fewer', () => {
    expect(stat.readTuple(unpackTuple(pack([...ONE_TO_ELEVEN, 'new']), 'stat')).numChildren).toBe(11);
    expect(() => stat.readTuple(unpackTuple(pack(ONE_TO_ELEVEN.slice(1)), 'stat'))).toThrow(MalformedError);
  });
});
