import { InvariantError as RaftInvariantError } from '@holdfast/raft/core';
import { describe, expect, it } from 'vitest';

import { failureOf } from '../../src/mutants/attempt.ts';

describe('an error of a changed product', () => {
  it('counts when an invariant of the product stopped it', () => {
    expect(failureOf(new RaftInvariantError('one-leader-a-term', 'term 3'))).toEqual({
      kind: 'promise',
      name: 'one-leader-a-term',
      message: 'broken invariant: one-leader-a-term (term 3)',
    });
  });

  it.each([new TypeError('x is not a function'), new Error('something'), 'a text'])(
    'counts for nothing otherwise',
    (error) => {
      expect(failureOf(error).kind).toBe('unexpected');
    },
  );
});
