import { MalformedError, type Packable } from '@holdfast/protocol';
import { describe, expect, test } from 'vitest';
import { packRequest, readRequest, unpackRequest } from '../../src/locks/kinds/lock-kind.ts';
import { mutex } from '../../src/locks/kinds/mutex.ts';
import { semaphore } from '../../src/locks/kinds/semaphore.ts';

const permitsOf = (permits: number, limit: number) => ({ type: 'semaphore', permits, limit });

describe('a request that is read', () => {
  test('is the one that its parameters say, whichever was read before', () => {
    const asked: readonly (readonly [number, number])[] = [
      [1, 3],
      [1, 3],
      [2, 3],
      [1, 3],
      [3, 3],
      [1, 1],
      [1, 3],
    ];
    expect(asked.map((parameters) => readRequest(semaphore, parameters))).toEqual(
      asked.map(([permits, limit]) => permitsOf(permits, limit)),
    );
  });

  test('packs into the bytes from which it is read back, the last one as well as one before', () => {
    const first = readRequest(semaphore, [2, 5]);
    const packed = packRequest(semaphore, first) ?? new Uint8Array(0);
    readRequest(semaphore, [1, 5]);
    expect(packRequest(semaphore, first)).toEqual(packed);
    expect(unpackRequest(semaphore, packed)).toEqual(permitsOf(2, 5));
    expect(packRequest(mutex, readRequest(mutex, []))).toBeUndefined();
  });

  test.each<readonly [string, readonly Packable[]]>([
    ['too few', [1]],
    ['too many', [1, 3, 1]],
    ['more permits than there are', [4, 3]],
    ['no permit', [0, 3]],
    ['minus zero', [-0, 3]],
    ['a boolean', [true, 3]],
  ])('is refused with %s, also right after a good one', (_what, parameters) => {
    readRequest(semaphore, [1, 3]);
    expect(() => readRequest(semaphore, parameters)).toThrow(MalformedError);
    expect(readRequest(semaphore, [1, 3])).toEqual(permitsOf(1, 3));
  });
});
