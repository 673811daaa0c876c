import { LockKind, MUTEX } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { inTheWay, mayHoldTogether, mayJoin, requestOf, type Requester } from '../../src/models/holders.ts';

const first = { name: 'first', request: MUTEX };
const second = { name: 'second', request: MUTEX };

function reading(): Requester {
  return { request: { type: 'readWrite', write: false } };
}

function permits(count: number, limit = 3): Requester {
  return { request: { type: 'semaphore', permits: count, limit } };
}

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

  it('lets many read, or one write', () => {
    const [read, other] = [reading(), reading()];
    const write: Requester = { request: { type: 'readWrite', write: true } };
    expect(mayJoin([], read)).toBe(true);
    expect(mayJoin([read], other)).toBe(true);
    expect(mayJoin([], write)).toBe(true);
    expect(mayJoin([read, other], write)).toBe(false);
    expect(mayJoin([write], read)).toBe(false);
    expect(inTheWay([read, write], other)).toBe(write);
    expect(mayHoldTogether([read, other])).toBe(true);
    expect(mayHoldTogether([read, write])).toBe(false);
  });

  it('lets out as many permits as there are, to those who know how many', () => {
    expect(mayJoin([permits(1)], permits(2))).toBe(true);
    expect(mayJoin([permits(1), permits(1)], permits(2))).toBe(false);
    expect(mayJoin([], permits(3))).toBe(true);
    expect(mayJoin([], permits(4))).toBe(false);
    expect(mayHoldTogether([permits(1), permits(2)])).toBe(true);
    expect(mayHoldTogether([permits(1), permits(2), permits(1)])).toBe(false);
    expect(mayJoin([permits(1, 5)], permits(1))).toBe(false);
  });

  it('lets nobody hold it in two ways at a time', () => {
    expect(mayJoin([first], reading())).toBe(false);
    expect(mayJoin([permits(1)], reading())).toBe(false);
    expect(mayJoin([reading()], permits(1))).toBe(false);
  });

  it('reads a request as commands and listings have it, and refuses what no kind has', () => {
    expect(requestOf()).toEqual(MUTEX);
    expect(requestOf(LockKind.mutex, [])).toEqual(MUTEX);
    expect(() => requestOf(LockKind.mutex, [1])).toThrow(
      'a request for a lock of kind mutex has 1 parameters too many',
    );
    expect(requestOf(LockKind.readWrite, [true])).toEqual({ type: 'readWrite', write: true });
    expect(requestOf(LockKind.semaphore, [2, 5])).toEqual({ type: 'semaphore', permits: 2, limit: 5 });
    expect(() => requestOf(LockKind.readWrite)).toThrow();
    expect(() => requestOf(63)).toThrow('there is no kind 63 of locks');
  });
});
