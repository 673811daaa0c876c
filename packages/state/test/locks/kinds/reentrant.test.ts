import { type LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { bytesOf, restore } from '../../support/snapshots.ts';
import { asReply, codeOf, Solo } from '../../support/solo.ts';

const by = (owner: number, limit = 3): LockRequest => ({ type: 'reentrant', owner, limit });

function entries(solo: Solo): (number | undefined)[] {
  return solo.ask({ type: 'lock', lock: 'r' }).queue.map((place) => place.entries);
}

describe('a reentrant lock', () => {
  it('is entered again by its owner under one token, past those who wait, and free when it was left as often', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const outer = a.take('r', by(1));
    b.take('r', by(1));
    const inner = a.take('r', by(1));
    expect(inner).toEqual(outer);
    expect(entries(solo)).toEqual([2, 1]);
    expect(a.release(inner)).toEqual({ type: 'done' });
    expect(solo.grantedTo).toEqual([]);
    expect(entries(solo)).toEqual([1, 1]);
    a.release(outer);
    expect(solo.grantedTo).toEqual([b.id]);
    expect(codeOf(a.release(outer))).toBe('NOT_HELD');
  });

  it('is another owner’s in the same session, and so is the same number in another session', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    a.take('r', by(1));
    expect(a.take('r', by(2)).token).toBe(0);
    expect(b.take('r', by(1)).token).toBe(0);
    expect(
      asReply(b.send({ type: 'acquire', lock: 'r', kind: 3, wait: false, parameters: [1, 3] }), 'lockHeld').holder
        .session,
    ).toBe(a.id);
    expect(a.take('r', by(1), false).token).not.toBe(0);
  });

  it('is entered up to its limit, which is one for all who use it', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const held = a.take('r', by(1));
    a.take('r', by(1));
    a.take('r', by(1));
    expect(a.refused('r', by(1))).toBe(
      'LIMIT_EXCEEDED: lock r was entered 3 times by its owner, at most 3; leave it before it is entered again',
    );
    expect(b.refused('r', by(1, 4))).toMatch(/^INVALID_ARGUMENT: lock r is in use with a limit of 3 entries/);
    a.release(held);
    expect(a.take('r', by(1))).toEqual(held);
    expect(entries(solo)).toEqual([3]);
  });

  it('counts an entry once, however often its request comes, and takes one back for a cancel', () => {
    const solo = new Solo().raise();
    const { a } = solo.openAll('a');
    const held = a.take('r', by(1));
    a.take('r', by(1));
    const again = { type: 'acquire', lock: 'r', kind: 3, wait: true, parameters: [1, 3] } as const;
    expect(a.resend(a.number, again)).toMatchObject({ acquireIndex: held.acquireIndex, token: held.token });
    expect(entries(solo)).toEqual([2]);
    expect(a.cancel(held)).toEqual({ type: 'cancelled', token: held.token });
    expect(entries(solo)).toEqual([1]);
    a.cancel(held);
    expect(solo.machine.counts.locks).toBe(0);
    expect(codeOf(a.resend(a.number - 2, again))).toBe('NOT_HELD');
  });

  it('is gone with all its entries when its session ends, or an operator revokes it', () => {
    const solo = new Solo().raise();
    const { a, b, c } = solo.openAll('a', 'b', 'c');
    const held = a.take('r', by(1));
    a.take('r', by(1));
    const next = b.take('r', by(1));
    expect(asReply(c.revoke(held, a), 'revoked').token).toBe(solo.index);
    expect(solo.grantedTo).toEqual([b.id]);
    expect(entries(solo)).toEqual([1]);
    b.take('r', by(1));
    c.take('r', by(7));
    solo.expire(b.id);
    expect(solo.grantedTo).toEqual([c.id]);
    expect(codeOf(c.revoke(next, b))).toBe('NOT_FOUND');
  });

  it('keeps its entries in a snapshot', () => {
    const solo = new Solo().raise();
    const { a } = solo.openAll('a');
    const held = a.take('r', by(1));
    a.take('r', by(1));
    const restored = new Solo();
    restore(bytesOf(solo.machine), solo.index, restored.machine);
    expect(bytesOf(restored.machine)).toEqual(bytesOf(solo.machine));
    const same = a.in(restored);
    for (const session of [a, same]) {
      session.release(held);
      expect(entries(session.solo)).toEqual([1]);
      session.release(held);
    }
    expect(restored.machine.digest).toBe(solo.machine.digest);
    expect(restored.machine.counts).toEqual(solo.machine.counts);
  });

  it('takes no room for one entry, and none is left when it is free', () => {
    const solo = new Solo({ maxTreeDataBytes: 10 }).raise();
    const { a } = solo.openAll('a');
    const { dataBytes } = solo.machine.counts;
    const held = a.take('r', by(1));
    expect(a.refused('r', by(1))).toMatch(/^LIMIT_EXCEEDED: the tree has \d+ bytes of data/);
    a.release(held);
    expect(solo.machine.counts.dataBytes).toBe(dataBytes);
  });
});
