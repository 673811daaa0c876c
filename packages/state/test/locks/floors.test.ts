/** The floor of a lock: the lowest token under which it is held. What lies below it is of nobody who holds the lock. */

import type { LockRequest } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { all, asReply, only, Solo, type ReplyOf, type SoloSession } from '../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };

function ask(session: SoloSession, request: LockRequest): ReplyOf<'acquire'> & { readonly lock: string } {
  return { ...asReply(session.acquireAs('l', request), 'acquire'), lock: 'l' };
}

function permits(count: number): LockRequest {
  return { type: 'semaphore', permits: count, limit: 5 };
}

describe('the floor of a grant', () => {
  it('is the lowest token of those who hold the lock together, its own for the first', () => {
    const solo = new Solo().raise();
    const first = ask(solo.open(), READ);
    expect(first.floor).toBe(first.token);
    expect(ask(solo.open(), READ).floor).toBe(first.token);
    expect(ask(solo.open(), READ).floor).toBe(first.token);
  });

  it('is not told of a hold that is alone by its kind', () => {
    const solo = new Solo().raise();
    expect(ask(solo.open(), WRITE)).not.toHaveProperty('floor');
    const mutex = asReply(solo.open().acquireAs('m', { type: 'mutex' }), 'acquire');
    expect(mutex).not.toHaveProperty('floor');
  });

  it('comes with a grant to one who waited, and with the answer to a retry as it is then', () => {
    const solo = new Solo().raise();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const writer = ask(a, WRITE);
    ask(b, READ);
    ask(c, READ);
    a.release(writer);
    const token = solo.index;
    expect(all(solo.outputs, 'granted').map(({ floor }) => floor)).toEqual([token, token]);
    const last = ask(a, READ);
    expect(last.floor).toBe(token);
    for (const session of [b, c]) session.close();
    const command = { type: 'acquire', lock: 'l', kind: 1, wait: true, parameters: [false] } as const;
    expect(a.resend(a.number, command)).toEqual({
      type: 'acquire',
      acquireIndex: last.acquireIndex,
      token: last.token,
      floor: last.token,
    });
  });

  it('of several locks is the lowest of those that others may hold, too', () => {
    const solo = new Solo().raise();
    const reader = asReply(solo.open().acquireAs('r', READ), 'acquire');
    asReply(solo.open().acquireAs('s', permits(1)), 'acquire');
    const wanted = [
      { lock: 'r', asked: READ },
      { lock: 's', asked: permits(1) },
    ];
    expect(solo.open().acquireSeveral([...wanted, 'alone'])).toMatchObject({ floor: reader.token });
    expect(solo.open().acquireSeveral(['x', 'y'])).not.toHaveProperty('floor');
  });
});

describe('a floor', () => {
  it('rises when the first holder leaves and others stay, and is reported once', () => {
    const solo = new Solo().raise();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const first = ask(a, READ);
    const second = ask(b, READ);
    const third = ask(c, READ);
    b.release(second);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
    a.release(first);
    expect(only(solo.outputs, 'floorRaised')).toEqual({ type: 'floorRaised', lock: 'l', floor: third.token });
    c.release(third);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
  });

  it('does not rise where another has the same token', () => {
    const solo = new Solo().raise();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const writer = ask(a, WRITE);
    const first = ask(b, READ);
    ask(c, READ);
    a.release(writer);
    b.release(first);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
  });

  it('is not reported to those whom the same entry has granted the lock', () => {
    const solo = new Solo().raise();
    const [a, b] = [solo.open(), solo.open()];
    const all5 = ask(a, permits(5));
    ask(b, permits(5));
    a.release(all5);
    expect(only(solo.outputs, 'granted').floor).toBe(solo.index);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
  });

  it('never falls, is never above a live token, and is what was reported', () => {
    const move = fc.record({ session: fc.nat(4), count: fc.integer({ min: 1, max: 3 }), leave: fc.boolean() });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const solo = new Solo().raise();
        const sessions = Array.from({ length: 5 }, () => solo.open());
        let before = 0;
        /** By acquire index, what its owner was told last. */
        const told = new Map<number, number>();
        for (const { session: at, count, leave } of moves) {
          const session = sessions[at];
          if (session === undefined) throw new Error('no session');
          const [oldest] = solo.machine.acquires(session.id);
          if (leave && oldest !== undefined) session.cancel(oldest);
          else {
            const reply = ask(session, permits(count));
            if (reply.token !== 0) told.set(reply.acquireIndex, reply.floor ?? 0);
          }
          for (const { acquireIndex, floor } of all(solo.outputs, 'granted')) told.set(acquireIndex, floor ?? 0);
          const held = solo.ask({ type: 'lock', lock: 'l' }).queue.filter(({ token }) => token !== 0);
          const floor = Math.min(...held.map(({ token }) => token));
          for (const raised of all(solo.outputs, 'floorRaised')) {
            expect(raised.floor).toBe(floor);
            for (const { acquireIndex } of held) told.set(acquireIndex, raised.floor);
          }
          for (const { acquireIndex } of held) expect(told.get(acquireIndex)).toBe(floor);
          if (held.length > 0) {
            expect(floor).toBeGreaterThanOrEqual(before);
            before = floor;
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
