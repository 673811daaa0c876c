/** An acquire of several locks: all of them or none, in one entry, under one token. */

import { MAX_ACQUIRES_PER_SESSION, type LockRequest } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bytesOf, copyOf, restore } from '../support/snapshots.ts';
import { all, asReply, codeOf, only, operation, Solo, type SoloSession } from '../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };

function begin(count: number): { readonly solo: Solo; readonly sessions: readonly SoloSession[] } {
  const solo = new Solo().raise();
  return { solo, sessions: Array.from({ length: count }, () => solo.open()) };
}

function three(): readonly [Solo, SoloSession, SoloSession, SoloSession] {
  const { solo, sessions } = begin(3);
  const [a, b, c] = sessions;
  if (!a || !b || !c) throw new Error('no session');
  return [solo, a, b, c];
}

function take(
  session: SoloSession,
  ...locks: readonly string[]
): { lock: string; acquireIndex: number; token: number } {
  const { acquireIndex, token } = asReply(session.acquireSeveral(locks), 'acquire');
  return { lock: locks[0] ?? '', acquireIndex, token };
}

describe('an acquire of several locks', () => {
  it('holds all of them at once under the index of its entry, when all are free', () => {
    const [solo, a] = three();
    const held = take(a, 'y', 'x', 'z');
    expect(held.token).toBe(solo.index);
    for (const lock of ['x', 'y', 'z']) {
      expect(solo.queue(lock)).toEqual([`${a.id}@${held.token}`]);
      expect(solo.ask({ type: 'verify', lock, acquireIndex: held.acquireIndex }).token).toBe(held.token);
    }
    expect(solo.machine.counts).toMatchObject({ locks: 3, holds: 3, waits: 0 });
    expect(solo.machine.acquires(a.id)).toEqual([{ lock: 'x', acquireIndex: held.acquireIndex, token: held.token }]);
  });

  it('holds none while one of them is held, and all in the entry that gives that one up', () => {
    const [solo, a, b] = three();
    const held = a.acquire('y');
    const wanted = take(b, 'x', 'y');
    expect(wanted.token).toBe(0);
    expect(solo.queue('x')).toEqual([`${b.id}`]);
    a.release(held);
    expect(all(solo.outputs, 'granted')).toEqual([
      { type: 'granted', session: b.id, lock: 'x', acquireIndex: wanted.acquireIndex, token: solo.index },
    ]);
    for (const lock of ['x', 'y']) expect(solo.queue(lock)).toEqual([`${b.id}@${solo.index}`]);
  });

  it('is overtaken by nobody at a lock that nobody holds yet', () => {
    const [solo, a, b, c] = three();
    a.acquire('y');
    take(b, 'x', 'y');
    expect(c.acquire('x').token).toBe(0);
    const tried = asReply(c.send({ type: 'acquire', lock: 'x', kind: 0, wait: false }), 'lockHeld');
    expect(tried.holder).toMatchObject({ session: b.id, token: 0 });
    expect(solo.queue('x')).toEqual([`${b.id}`, `${c.id}`]);
  });

  it('gives all of them up by the name of any, and others are granted each', () => {
    const [solo, a, b, c] = three();
    const held = take(a, 'x', 'y');
    const [atX, atY] = [b.acquire('x'), c.acquire('y')];
    expect(a.release({ ...held, lock: 'y' })).toEqual({ type: 'done' });
    expect(all(solo.outputs, 'granted').map(({ lock, acquireIndex, token }) => [lock, acquireIndex, token])).toEqual([
      ['x', atX.acquireIndex, solo.index],
      ['y', atY.acquireIndex, solo.index],
    ]);
  });

  it('lets others in that it had been before, when it is cancelled', () => {
    const [solo, a, b, c] = three();
    a.acquire('y');
    const wanted = take(b, 'x', 'y');
    const single = c.acquire('x');
    expect(b.cancel({ ...wanted, lock: 'x' })).toEqual({ type: 'cancelled', token: 0 });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: single.acquireIndex, token: solo.index });
  });

  it('is granted to a chain of others, whose turn comes with it, in the same entry', () => {
    const { solo, sessions } = begin(4);
    const [a, b, c, d] = sessions;
    if (!a || !b || !c || !d) throw new Error('no session');
    const held = asReply(a.acquireAs('q', WRITE), 'acquire');
    const readers = [b, c].map((session, at) =>
      asReply(session.acquireSeveral([{ lock: 'q', asked: READ }, `own-${at}`]), 'acquire'),
    );
    const alone = asReply(d.acquireSeveral(['own-0', 'other']), 'acquire');
    expect(alone.token).toBe(0);
    a.release({ lock: 'q', acquireIndex: held.acquireIndex });
    expect(all(solo.outputs, 'granted').map(({ acquireIndex }) => acquireIndex)).toEqual(
      readers.map(({ acquireIndex }) => acquireIndex),
    );
  });

  it('never waits for another of several that waits for it', () => {
    const [solo, a, b, c] = three();
    const held = a.acquire('x');
    const first = take(b, 'x', 'y');
    const second = take(c, 'y', 'x');
    a.release(held);
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: first.acquireIndex });
    b.release({ ...first, lock: 'y' });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: second.acquireIndex, token: solo.index });
  });

  it('is lost as a whole when any of its queue nodes is deleted, and reported once', () => {
    const [solo, a, b, c] = three();
    const held = take(a, 'x', 'y');
    const next = b.acquire('y');
    expect(c.delete('/holdfast/locks/y/q-0000000000')).toEqual({ type: 'done' });
    expect(only(solo.outputs, 'lost')).toEqual({
      type: 'lost',
      session: a.id,
      lock: 'x',
      acquireIndex: held.acquireIndex,
      reason: 'revoked',
    });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: next.acquireIndex });
    expect(solo.queue('x')).toEqual([]);
    expect(codeOf(a.release(held))).toBe('NOT_HELD');
  });

  it('goes from a draft with all its nodes: a transaction finds none of them behind the deletion of one', () => {
    const [, a, , c] = three();
    take(a, 'x', 'y');
    const paths = ['x', 'y'].map((lock) => `/holdfast/locks/${lock}/q-0000000000`);
    expect(c.transaction(paths.map((path) => operation.delete(path)))).toMatchObject({
      type: 'transactionFailed',
      operation: 1,
      code: 'NOT_FOUND',
    });
    expect(c.done([operation.delete(paths[0] ?? '')])).toEqual([0]);
  });

  it('goes with its session, and is the answer to its request when that comes again', () => {
    const [solo, a, b] = three();
    const held = take(a, 'x', 'y');
    const wanted = take(b, 'x', 'y');
    expect(b.resend(1, { type: 'acquireSeveral', locks: [], wait: true })).toEqual({
      type: 'acquire',
      acquireIndex: wanted.acquireIndex,
      token: 0,
    });
    solo.expire(a.id);
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: wanted.acquireIndex, token: solo.index });
    expect(solo.machine.counts).toMatchObject({ locks: 2, holds: 2, waits: 0 });
    expect(held.token).toBeLessThan(solo.index);
    expect(b.attachAgain().acquires).toEqual([{ lock: 'x', acquireIndex: wanted.acquireIndex, token: solo.index - 1 }]);
  });

  it.each<[string, readonly string[]]>([
    ['no lock', []],
    ['one lock twice', ['x', 'y', 'x']],
    ['a name that no lock has', ['x', '']],
  ])('refuses %s, and leaves nothing', (_, locks) => {
    const [solo, a] = three();
    const { nodes } = solo.machine.counts;
    expect(codeOf(a.acquireSeveral(locks))).toBe('INVALID_ARGUMENT');
    expect(solo.machine.counts).toMatchObject({ nodes, locks: 0 });
  });

  it('leaves nothing when it was not to wait and one of them is not free', () => {
    const [solo, a, b] = three();
    const held = a.acquire('y');
    expect(asReply(b.acquireSeveral(['x', 'y'], false), 'lockHeld').holder).toMatchObject({ token: held.token });
    expect(solo.machine.counts).toMatchObject({ locks: 1, waits: 0 });
  });

  it('counts as many as its locks among those of its session', () => {
    const solo = new Solo({ maxAcquiresPerSession: 4 }).raise();
    const session = solo.open();
    take(session, 'a', 'b', 'c');
    expect(codeOf(session.acquireSeveral(['d', 'e']))).toBe('LIMIT_EXCEEDED');
    expect(session.acquire('d').token).toBe(solo.index);
    expect(MAX_ACQUIRES_PER_SESSION).toBeGreaterThan(4);
  });
});

describe('acquires of several locks of any kinds, drawn at random', () => {
  const NAMES = ['a', 'b', 'c'];
  const move = fc.record({
    session: fc.nat(3),
    locks: fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
    what: fc.constantFrom('take', 'take', 'leave', 'snapshot'),
  });

  it('are granted all or none, to whoever has been first at every lock, and are the same on a restored machine', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        const { solo, sessions } = begin(4);
        let other = new Solo();
        Object.assign(other, { machine: copyOf(solo.machine) });
        for (const { session: at, locks, what } of moves) {
          const session = sessions[at];
          if (session === undefined) throw new Error('no session');
          if (what === 'snapshot') {
            const bytes = bytesOf(solo.machine);
            other = new Solo();
            Object.assign(other, { machine: restore(bytes, solo.index) });
            expect(bytesOf(other.machine)).toEqual(bytes);
            continue;
          }
          const oldest = solo.machine.acquires(session.id)[0];
          const twin = session.in(other);
          if (what === 'leave' && oldest !== undefined) {
            expect(twin.cancel(oldest)).toEqual(session.cancel(oldest));
          } else {
            expect(twin.acquireSeveral(locks)).toEqual(session.acquireSeveral(locks));
          }
          expect(other.outputs).toEqual(solo.outputs);
          expect(other.machine.digest).toBe(solo.machine.digest);
          expectFair(solo);
        }
      }),
      { numRuns: 100 },
    );
  });

  /** Written anew: whoever is first at all of its locks holds them, and nobody else does. */
  function expectFair(solo: Solo): void {
    const queues = new Map(NAMES.map((lock) => [lock, solo.ask({ type: 'lock', lock }).queue]));
    const acquires = new Map<number, { readonly token: number; readonly locks: string[] }>();
    for (const [lock, queue] of queues) {
      for (const { acquireIndex, token } of queue) {
        const known = acquires.get(acquireIndex);
        if (known === undefined) acquires.set(acquireIndex, { token, locks: [lock] });
        else {
          expect(token).toBe(known.token);
          known.locks.push(lock);
        }
      }
    }
    for (const [acquireIndex, { token, locks }] of acquires) {
      const first = locks.every((lock) => queues.get(lock)?.[0]?.acquireIndex === acquireIndex);
      expect(token !== 0).toBe(first);
    }
  }
});
