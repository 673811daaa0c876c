/** What an operator asks of who holds a lock: that it is kept with the hold, told to its session, and carried out when its time is over. */

import { describe, expect, it } from 'vitest';

import { bytesOf, copyOf } from '../support/snapshots.ts';
import { all, asReply, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

function begin(): readonly [Solo, SoloSession, SoloSession, SoloSession] {
  const solo = new Solo().raise();
  return [solo, solo.open('holder'), solo.open('next'), solo.open('operator')];
}

function requestOf(solo: Solo, lock: string): unknown {
  return solo.ask({ type: 'lock', lock }).queue.map(({ releaseRequest }) => releaseRequest);
}

describe('a request to release a hold', () => {
  it('is told to its session, and shown with the hold, by whom and for how long', () => {
    const [solo, a, b, operator] = begin();
    const held = a.acquire('l');
    b.acquire('l');
    solo.wallMs = 2_000_000;
    expect(operator.requestRelease(held, { withinMs: 5_000 })).toEqual({ type: 'done' });
    const request = { index: solo.index, askedAt: 2_000_000, withinMs: 5_000, revokes: true, by: 'operator' };
    expect(only(solo.outputs, 'releaseRequested')).toEqual({
      type: 'releaseRequested',
      session: a.id,
      lock: 'l',
      acquireIndex: held.acquireIndex,
      request,
    });
    expect(requestOf(solo, 'l')).toEqual([request, undefined]);
    const { acquireIndex } = held;
    expect(solo.machine.releaseRequests()).toEqual([{ session: a.id, lock: 'l', acquireIndex, request }]);
  });

  it('takes the place of an earlier one, and goes with the hold', () => {
    const [solo, a, , operator] = begin();
    const held = a.acquire('l');
    operator.requestRelease(held);
    const first = solo.index;
    operator.requestRelease(held, { revokes: false });
    const second = solo.index;
    expect(requestOf(solo, 'l')).toMatchObject([{ index: second, revokes: false }]);
    solo.enforceRelease('l', held.acquireIndex, first);
    expect(all(solo.outputs, 'lost')).toEqual([]);
    a.release(held);
    expect(solo.machine.releaseRequests()).toEqual([]);
    expect(solo.machine.counts).toMatchObject({ locks: 0, dataBytes: 0 });
  });

  it('is of all the locks of a hold, whichever it names', () => {
    const [solo, a, , operator] = begin();
    const { acquireIndex } = asReply(a.acquireSeveral(['x', 'y']), 'acquire');
    operator.requestRelease({ lock: 'y', acquireIndex });
    const request = solo.index;
    expect(only(solo.outputs, 'releaseRequested')).toMatchObject({ lock: 'x', acquireIndex });
    expect(requestOf(solo, 'x')).toMatchObject([{ index: request }]);
    expect(requestOf(solo, 'y')).toMatchObject([{ index: request }]);
    solo.enforceRelease('x', acquireIndex, request);
    expect(solo.machine.counts).toMatchObject({ locks: 0 });
  });

  it('is refused where there is no such hold, for a wait too, and where there is no room', () => {
    const [solo, a, b, operator] = begin();
    const held = a.acquire('l');
    const waiting = b.acquire('l');
    expect(codeOf(operator.requestRelease(waiting))).toBe('NOT_FOUND');
    expect(codeOf(operator.requestRelease({ lock: 'm', acquireIndex: held.acquireIndex }))).toBe('NOT_FOUND');
    expect(codeOf(operator.requestRelease({ lock: '', acquireIndex: held.acquireIndex }))).toBe('INVALID_ARGUMENT');
    expect(solo.machine.releaseRequests()).toEqual([]);
    const small = new Solo({ maxTreeDataBytes: 10 }).raise();
    const own = small.open();
    expect(codeOf(own.requestRelease(own.acquire('l')))).toBe('LIMIT_EXCEEDED');
  });

  it('is UNSUPPORTED before state version 5', () => {
    const solo = new Solo().raise(4);
    const session = solo.open();
    expect(codeOf(session.requestRelease(session.acquire('l')))).toBe('UNSUPPORTED');
  });
});

describe('a request whose time is over', () => {
  it('revokes the hold, tells its session, and grants the next in the same entry', () => {
    const [solo, a, b, operator] = begin();
    const held = a.acquire('l');
    const next = b.acquire('l');
    operator.requestRelease(held);
    const request = solo.index;
    solo.enforceRelease('l', held.acquireIndex, request);
    expect(solo.outputs.map(({ type }) => type)).toEqual(['releaseEnforced', 'lost', 'granted']);
    expect(only(solo.outputs, 'lost')).toMatchObject({ acquireIndex: held.acquireIndex, reason: 'revoked' });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: next.acquireIndex, token: solo.index });
  });

  it('leaves a hold that is to be left, and one that has gone meanwhile', () => {
    const [solo, a, b, operator] = begin();
    const held = a.acquire('l');
    operator.requestRelease(held, { revokes: false });
    solo.enforceRelease('l', held.acquireIndex, solo.index);
    expect(solo.outputs.map(({ type }) => type)).toEqual(['releaseEnforced']);
    const next = b.acquire('l');
    operator.requestRelease(held);
    const request = solo.index;
    a.release(held);
    solo.enforceRelease('l', held.acquireIndex, request);
    solo.enforceRelease('l', next.acquireIndex, request);
    expect(solo.queue('l')).toHaveLength(1);
  });
});

describe('a machine that was restored', () => {
  it('has the requests to release, with holds of several locks as well', () => {
    const [solo, a, b, operator] = begin();
    const held = a.acquire('l');
    const several = asReply(b.acquireSeveral(['x', 'y']), 'acquire');
    operator.requestRelease({ lock: 'y', acquireIndex: several.acquireIndex });
    operator.requestRelease(held, { withinMs: 0, revokes: false });
    const copy = copyOf(solo.machine);
    expect(copy.releaseRequests()).toEqual(solo.machine.releaseRequests());
    expect(copy.query({ type: 'lock', lock: 'y' })).toEqual(solo.machine.query({ type: 'lock', lock: 'y' }));
    expect(bytesOf(copy)).toEqual(bytesOf(solo.machine));
  });
});
