import { InvariantError } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { all, codeOf, Solo, text } from './support/solo.ts';
import { bytesOf, copyOf } from './support/snapshots.ts';

const NEW_LIFE = 2 ** 40;

/** Two locks with a holder and waiters each, across sessions, an ephemeral and a plain node. */
function lived(): Solo {
  const solo = new Solo();
  const [a, b, c] = [solo.open('a'), solo.open('b'), solo.open('c')];
  for (const session of [a, b, c]) session.acquire('x');
  for (const session of [c, b]) session.acquire('y');
  a.made('/plain', { data: 'kept' });
  a.made('/plain/child', { data: 'gone', ephemeral: true });
  return solo;
}

describe('a state that goes on as that of a new cluster', () => {
  it('has no sessions, no locks and no ephemeral nodes, and grants nobody anything on the way', () => {
    const solo = lived();
    const containers = solo.machine.counts.nodes;
    expect(solo.machine.counts).toMatchObject({ sessions: 3, holds: 2, waits: 3 });
    solo.machine.beginNewLife(NEW_LIFE);
    expect(solo.machine.counts).toMatchObject({ sessions: 0, locks: 0, holds: 0, waits: 0 });
    // Two containers, five queue nodes and the ephemeral one.
    expect(solo.machine.counts.nodes).toBe(containers - 8);
    expect(codeOf(solo.machine.query({ type: 'get', path: '/plain/child' }))).toBe('NOT_FOUND');
    const plain = solo.ask({ type: 'get', path: '/plain' });
    expect(text(plain.data)).toBe('kept');
    expect(plain.stat.pzxid).toBe(NEW_LIFE);
    expect(solo.machine.appliedIndex).toBe(NEW_LIFE);
  });

  it('grants with higher tokens from there on', () => {
    const solo = lived();
    solo.machine.beginNewLife(NEW_LIFE);
    const session = solo.open();
    const { token } = session.acquire('x');
    expect(token).toBe(NEW_LIFE + 2);
    expect(all(solo.outputs, 'granted')).toEqual([]);
    expect(solo.queue('x')).toEqual([`${session.id}@${token}`]);
  });

  it('tells a client of the old cluster that its session has ended', () => {
    const solo = new Solo();
    const { secret, id } = solo.open();
    solo.machine.beginNewLife(NEW_LIFE);
    expect(codeOf(solo.attach({ secret, session: id }))).toBe('SESSION_EXPIRED');
  });

  it('is what a snapshot of it holds, and the same on every server that makes it', () => {
    const [one, other] = [lived(), lived()];
    one.machine.beginNewLife(NEW_LIFE);
    other.machine.beginNewLife(NEW_LIFE);
    expect(bytesOf(one.machine)).toEqual(bytesOf(other.machine));
    const copy = copyOf(one.machine);
    expect(copy).toMatchObject({ appliedIndex: NEW_LIFE, digest: one.machine.digest });
    expect(copy.counts).toEqual(one.machine.counts);
    expect(bytesOf(copy)).toEqual(bytesOf(one.machine));
  });

  it('begins behind the old one', () => {
    const solo = lived();
    expect(() => solo.machine.beginNewLife(solo.index)).toThrow(InvariantError);
  });
});
