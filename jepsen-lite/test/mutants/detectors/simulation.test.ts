import { describe, expect, it } from 'vitest';

import { classify } from '../../../src/mutants/detectors/simulation.ts';

function unexpected(message: string): ReturnType<typeof classify> {
  return classify({ name: 'no-unexpected-error', message });
}

describe('what a simulation finds wrong', () => {
  it('counts when an invariant or a checker names it', () => {
    expect(classify({ name: 'election-safety', message: 'two leaders' })).toEqual({
      kind: 'promise',
      name: 'election-safety',
      message: 'two leaders',
    });
  });

  it('counts, by the name of the invariant, when the product itself has stopped', () => {
    const message = 's2: InvariantError: broken invariant: one-leader-a-term (term 3: 1 and 2)\n    at invariant';
    expect(unexpected(message)).toMatchObject({ kind: 'promise', name: 'one-leader-a-term' });
  });

  it('counts when a server finds its log damaged, which nothing has damaged', () => {
    const found = unexpected('s1: DamagedLogError: /data/group-0/0000.wal is damaged at byte 12: a batch is gone');
    expect(found).toMatchObject({ kind: 'promise', name: 'a-log-that-nothing-damaged-is-whole' });
  });

  it('counts when a server refuses a snapshot that is whole on its disk', () => {
    const found = unexpected('s1: SnapshotError: the snapshot is of index 131, not 130; it cannot be used');
    expect(found).toMatchObject({ kind: 'promise', name: 'a-snapshot-holds-what-it-says' });
  });

  it('counts for nothing when it is any other error', () => {
    expect(unexpected('s1: TypeError: x is not a function')).toMatchObject({ kind: 'unexpected' });
    expect(unexpected('c1: Error: DamagedLogError: said something else')).toMatchObject({ kind: 'unexpected' });
  });
});
