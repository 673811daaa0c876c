import type { QueueEntry } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { LockQueue } from '../../src/locks/lock-queue.ts';

function entry(acquireIndex: number, token: number, session: number): QueueEntry {
  return { acquireIndex, token, session, label: `s${session}`, since: 0, grantedAt: 0 };
}

const holder = entry(5, 5, 1);
const waiter = entry(7, 0, 2);

describe('the queue of a lock', () => {
  it('knows whose each node is, in the order of their numbers, and who comes before whom', () => {
    const names = ['q-10000000000', 'q-9999999999'];
    const queue = new LockQueue(9, names, [holder, waiter]);
    expect(queue.holders).toEqual([{ acquireIndex: 5, token: 5, session: 1, label: 's1' }]);
    expect([queue.waiters, queue.before(1), queue.before(2), queue.before(3)]).toEqual([1, 0, 1, undefined]);
    const change = queue.apply({ type: 'deleted', path: '/x', index: 10 }, 'q-9999999999');
    expect(change).toMatchObject({ type: 'released', place: { session: 1 } });
    expect([queue.index, queue.since, queue.waiters, queue.before(2)]).toEqual([10, 9, 1, 0]);
  });

  it('tells a grant by its token, and who gives up from who releases', () => {
    const queue = new LockQueue(9, ['q-0000000000', 'q-0000000001'], [holder, waiter]);
    expect(queue.apply({ type: 'deleted', path: '/x', index: 10 }, 'q-0000000001')).toMatchObject({ type: 'left' });
    expect(queue.apply({ type: 'created', path: '/x', index: 11 }, 'q-0000000002')).toMatchObject({
      type: 'waiting',
      place: { acquireIndex: 11, token: 0, session: 0 },
    });
    queue.apply({ type: 'deleted', path: '/x', index: 12 }, 'q-0000000000');
    expect(queue.apply({ type: 'changed', path: '/x', index: 12 }, 'q-0000000002')).toMatchObject({
      type: 'granted',
      place: { acquireIndex: 11, token: 12 },
    });
  });

  it('knows of who is granted the free lock at once that it never waited', () => {
    const queue = new LockQueue(9, [], []);
    const first = queue.apply({ type: 'created', path: '/x', index: 10 }, 'q-0000000000');
    expect(queue.wasGrantedAtOnce(first?.place ?? holder)).toBe(true);
    expect(queue.apply({ type: 'changed', path: '/x', index: 10 }, 'q-0000000000')).toMatchObject({ type: 'granted' });
    const second = queue.apply({ type: 'created', path: '/x', index: 11 }, 'q-0000000001');
    expect(queue.wasGrantedAtOnce(second?.place ?? holder)).toBe(false);
  });

  it('learns from a later picture who was granted at once beside others, and who waits alone, for another lock', () => {
    const shared = new LockQueue(9, ['q-0000000000'], [holder]);
    const reader = shared.apply({ type: 'created', path: '/x', index: 10 }, 'q-0000000001');
    shared.learn([entry(5, 5, 1), entry(10, 10, 2)]);
    expect(shared.wasGrantedAtOnce(reader?.place ?? holder)).toBe(true);
    const alone = new LockQueue(9, [], []);
    const waits = alone.apply({ type: 'created', path: '/x', index: 10 }, 'q-0000000000');
    alone.learn([entry(10, 12, 2)]);
    expect(alone.wasGrantedAtOnce(waits?.place ?? holder)).toBe(false);
  });

  it('says of one who holds beside others that nobody is before, and of a grant that it comes once', () => {
    const queue = new LockQueue(9, ['q-0000000000', 'q-0000000001'], [holder, entry(7, 8, 2)]);
    expect([queue.holders.length, queue.before(1), queue.before(2)]).toEqual([2, 0, 0]);
    expect(queue.apply({ type: 'changed', path: '/x', index: 10 }, 'q-0000000001')).toBeUndefined();
    expect(queue.holders.map(({ token }) => token)).toEqual([5, 8]);
  });

  it('learns whose a place is from a later picture, and does without for one that is gone', () => {
    const queue = new LockQueue(9, [], []);
    queue.apply({ type: 'created', path: '/x', index: 10 }, 'q-0000000000');
    const change = queue.apply({ type: 'created', path: '/x', index: 11 }, 'q-0000000001');
    expect(queue.hasStrangers).toBe(true);
    queue.learn([entry(11, 0, 4)]);
    expect(queue.hasStrangers).toBe(true);
    queue.learn([entry(10, 10, 3), entry(11, 0, 4)]);
    expect(queue.hasStrangers).toBe(false);
    expect(queue.present(change?.place ?? holder)).toMatchObject({ session: 4, label: 's4' });
    expect(queue.present(holder)).toBe(holder);
  });

  it('takes no notice of nodes that it has never seen', () => {
    const queue = new LockQueue(9, [], []);
    expect(queue.apply({ type: 'changed', path: '/x', index: 10 }, 'q-0000000007')).toBeUndefined();
    expect(queue.apply({ type: 'deleted', path: '/x', index: 11 }, 'other')).toBeUndefined();
  });
});
