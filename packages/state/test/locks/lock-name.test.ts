import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { encodeLockName, lockNameProblem, LOCKS_PATH, MAX_PATH_LENGTH, pathProblem } from '@holdfast/protocol';

import { containerName, lockProblem, MAX_CONTAINER_NAME_LENGTH, queueNodeName } from '../../src/locks/lock-name.ts';

const anyName = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: fc.constantFrom('.', '/', '%', '2', 'F', 'E', ' ', '~', '\u007f'), maxLength: 8 }),
);

describe('the container of a lock', () => {
  it('is named as the protocol encodes names, the short way included', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        if (lockProblem(name) !== undefined) return;
        expect(lockNameProblem(name)).toBeUndefined();
        expect(containerName(name)).toBe(encodeLockName(name));
      }),
      { numRuns: 2_000 },
    );
  });

  it('leaves room in a path for every queue node', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        if (lockProblem(name) !== undefined) return;
        const path = `${LOCKS_PATH}/${containerName(name)}/${queueNodeName(Number.MAX_SAFE_INTEGER)}`;
        expect(path.length).toBeLessThanOrEqual(MAX_PATH_LENGTH);
        expect(pathProblem(path)).toBeUndefined();
      }),
      { numRuns: 2_000 },
    );
  });

  it('may be just as long as that allows', () => {
    // A control character, which is encoded as six.
    const longest = '\u0085'.repeat(MAX_CONTAINER_NAME_LENGTH / 6);
    expect(containerName(longest)).toHaveLength(MAX_CONTAINER_NAME_LENGTH);
    expect(lockProblem(longest)).toBeUndefined();
    expect(lockProblem(`${longest}a`)).toBe(
      `longer than ${MAX_CONTAINER_NAME_LENGTH} characters when encoded for a path`,
    );
  });
});
