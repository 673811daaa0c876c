import { describe, expect, it } from 'vitest';

import { codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

function revoke(session: SoloSession, lock: string, acquireIndex: number) {
  return session.send({ type: 'revoke', lock, acquireIndex });
}

describe('a revocation', () => {
  it('takes a hold away, tells its session, and grants the next in the same entry', () => {
    const solo = new Solo().raise();
    const [a, b, operator] = [solo.open(), solo.open(), solo.open()];
    const held = a.acquire('l');
    const next = b.acquire('l');
    expect(revoke(operator, 'l', held.acquireIndex)).toEqual({ type: 'revoked', index: solo.index });
    expect(only(solo.outputs, 'lost')).toEqual({
      type: 'lost',
      session: a.id,
      lock: 'l',
      acquireIndex: held.acquireIndex,
      reason: 'revoked',
    });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: next.acquireIndex, token: solo.index });
    expect(codeOf(a.release(held))).toBe('NOT_HELD');
  });

  it('has an index above the token that it revokes, also where nobody waits', () => {
    const solo = new Solo().raise();
    const [a, operator] = [solo.open(), solo.open()];
    const held = a.acquire('l');
    revoke(operator, 'l', held.acquireIndex);
    expect(solo.index).toBeGreaterThan(held.token);
    expect(solo.machine.counts).toMatchObject({ locks: 0, holds: 0 });
    expect(a.acquire('l').token).toBeGreaterThan(solo.index - 1);
  });

  it('ends a wait as well, and all of an acquire of several locks', () => {
    const solo = new Solo().raise();
    const [a, b, operator] = [solo.open(), solo.open(), solo.open()];
    a.acquire('x');
    const waiting = b.acquire('x');
    revoke(operator, 'x', waiting.acquireIndex);
    expect(only(solo.outputs, 'lost')).toMatchObject({ acquireIndex: waiting.acquireIndex });
    b.acquireSeveral(['y', 'z']);
    const acquireIndex = solo.index;
    revoke(operator, 'z', acquireIndex);
    expect(only(solo.outputs, 'lost')).toMatchObject({ lock: 'y', acquireIndex });
    expect(solo.machine.counts).toMatchObject({ locks: 1, holds: 1, waits: 0 });
  });

  it('is answered with the same index when it comes again, which no later grant falls below', () => {
    const solo = new Solo().raise();
    const [a, operator] = [solo.open(), solo.open()];
    const { acquireIndex } = a.acquire('l');
    const answer = revoke(operator, 'l', acquireIndex);
    a.acquire('l');
    expect(operator.resend(1, { type: 'revoke', lock: 'l', acquireIndex })).toEqual(answer);
  });

  it('of what is not there changes nothing', () => {
    const solo = new Solo().raise();
    const [a, operator] = [solo.open(), solo.open()];
    const held = a.acquire('l');
    expect(codeOf(revoke(operator, 'l', held.acquireIndex + 1))).toBe('NOT_FOUND');
    expect(codeOf(revoke(operator, 'm', held.acquireIndex))).toBe('NOT_FOUND');
    expect(codeOf(revoke(operator, '', held.acquireIndex))).toBe('INVALID_ARGUMENT');
    expect(codeOf(a.release(held))).toBe('no error but done');
  });

  it('is UNSUPPORTED before state version 4', () => {
    const solo = new Solo().raise(3);
    expect(codeOf(revoke(solo.open(), 'l', 1))).toBe('UNSUPPORTED');
  });
});
