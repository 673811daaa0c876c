/** The semaphore: never more permits than there are, and nobody who overtakes with fewer. */

import { MAX_PERMITS, type LockRequest } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { copyOf } from '../support/snapshots.ts';
import { all, asReply, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

function permits(count: number, limit = 5): LockRequest {
  return { type: 'semaphore', permits: count, limit };
}

function ask(
  session: SoloSession,
  count: number,
  limit?: number,
): { lock: string; acquireIndex: number; token: number } {
  const { acquireIndex, token } = asReply(session.acquireAs('s', permits(count, limit)), 'acquire');
  return { lock: 's', acquireIndex, token };
}

describe('a semaphore', () => {
  it('has as many holders as its permits suffice for, each with a token of its own', () => {
    const solo = new Solo().raise();
    expect(ask(solo.open(), 2).token).toBe(solo.index);
    expect(ask(solo.open(), 3).token).toBe(solo.index);
    expect(ask(solo.open(), 1).token).toBe(0);
  });

  it('lets nobody overtake who waits for many permits', () => {
    const solo = new Solo().raise();
    ask(solo.open(), 4);
    expect(ask(solo.open(), 3).token).toBe(0);
    expect(ask(solo.open(), 1).token).toBe(0);
    expect(solo.open().acquireAs('s', permits(1), false).type).toBe('lockHeld');
  });

  it('is granted to as many as a release lets in, in one entry', () => {
    const solo = new Solo().raise();
    const first = solo.open();
    const held = ask(first, 5);
    const waiting = [1, 2, 3].map((count) => ask(solo.open(), count));
    first.release(held);
    expect(all(solo.outputs, 'granted').map(({ acquireIndex }) => acquireIndex)).toEqual(
      waiting.slice(0, 2).map(({ acquireIndex }) => acquireIndex),
    );
  });

  it('has the permits that are named first, while anybody uses it', () => {
    const solo = new Solo().raise();
    const session = solo.open();
    const held = ask(session, 1);
    const reply = asReply(solo.open().acquireAs('s', permits(1, 6)), 'error');
    expect(reply.code).toBe('INVALID_ARGUMENT');
    expect(reply.message).toBe('lock s is in use as a semaphore of 5 permits, not 6; name the same number everywhere');
    session.release(held);
    expect(ask(session, 6, 6).token).toBe(solo.index);
  });

  it.each([
    ['more permits than there are', permits(6)],
    ['no permit', permits(0)],
    ['more than any semaphore has', permits(1, MAX_PERMITS + 1)],
  ])('refuses %s', (_, request) => {
    const solo = new Solo().raise();
    expect(codeOf(solo.open().acquireAs('s', request))).toBe('INVALID_ARGUMENT');
    expect(solo.machine.counts.locks).toBe(0);
  });

  it('never gives more permits than it has, wastes none, and is the same on a restored machine', () => {
    const move = fc.record({ session: fc.nat(3), count: fc.integer({ min: 1, max: 5 }), leave: fc.boolean() });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        const solo = new Solo().raise();
        const sessions = Array.from({ length: 4 }, () => solo.open());
        for (const { session: at, count, leave } of moves) {
          const session = sessions[at];
          if (session === undefined) throw new Error('no session');
          const own = solo.machine.acquires(session.id);
          const oldest = own[0];
          if (leave && oldest !== undefined) session.cancel(oldest);
          else if (own.length < 4) ask(session, count);
          const { queue } = solo.ask({ type: 'lock', lock: 's' });
          const counts = queue.map(({ parameters }) => Number(parameters?.[0]));
          const held = queue.filter(({ token }) => token !== 0).length;
          const taken = counts.slice(0, held).reduce((sum, each) => sum + each, 0);
          expect(taken).toBeLessThanOrEqual(5);
          const next = counts[held];
          if (next !== undefined) expect(taken + next).toBeGreaterThan(5);
          const copy = copyOf(solo.machine);
          expect(copy.query({ type: 'lock', lock: 's' })).toEqual(solo.ask({ type: 'lock', lock: 's' }));
        }
        const copy = new Solo();
        Object.assign(copy, { machine: copyOf(solo.machine) });
        for (const session of sessions) {
          expect(session.in(copy).close()).toEqual(session.close());
          expect(copy.outputs).toEqual(solo.outputs);
        }
        expect(copy.machine.digest).toBe(solo.machine.digest);
        expect(solo.machine.counts).toMatchObject({ locks: 0, holds: 0, waits: 0 });
      }),
      { numRuns: 60 },
    );
  });

  it('gives the permits of a session that has expired to the next in the same entry', () => {
    const solo = new Solo().raise();
    const [a, b] = [solo.open(), solo.open()];
    ask(a, 3);
    ask(a, 2);
    const next = ask(b, 5);
    solo.expire(a.id);
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: next.acquireIndex, token: solo.index });
  });
});
