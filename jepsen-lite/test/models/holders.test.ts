import { LockKind, MUTEX } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { inTheWay, mayHoldTogether, mayJoin, requestOf } from '../../src/models/holders.ts';

const first = { name: 'first', request: MUTEX };
const second = { name: 'second', request: MUTEX };

describe('the model of who may hold a lock together', () => {
  it('lets a mutex have one holder', () => {
    expect(mayJoin([], first)).toBe(true);
    expect(mayJoin([first], second)).toBe(false);
    expect(inTheWay([], second)).toBeUndefined();
    expect(inTheWay([first], second)).toBe(first);
    expect(mayHoldTogether([])).toBe(true);
    expect(mayHoldTogether([first])).toBe(true);
    expect(mayHoldTogether([first, second])).toBe(false);
  });

  it('reads a request as commands and listings have it, and refuses what no kind has', () => {
    expect(requestOf()).toEqual(MUTEX);
    expect(requestOf(LockKind.mutex, [])).toEqual(MUTEX);
    expect(() => requestOf(LockKind.mutex, [1])).toThrow(
      'a request for a lock of kind mutex has 1 parameters too many',
    );
    expect(() => requestOf(63)).toThrow('there is no kind 63 of locks');
  });
});
