/** What tokens of locks are worth that several hold: floors, and what a revocation does to those who stay. */

import { LockKind, type LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { bytesOf, restore } from '../../support/snapshots.ts';
import { all, asReply, only, Solo, type SoloSession } from '../../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', mode: 'read' };
const WRITE: LockRequest = { type: 'readWrite', mode: 'write' };
const PERMIT: LockRequest = { type: 'semaphore', permits: 3, count: 1 };

function floorOf(solo: Solo, acquireIndex: number): number | undefined {
  return solo.ask({ type: 'verify', lock: 'l', acquireIndex }).floor;
}

describe.each([
  ['a read-write lock', READ],
  ['a semaphore', PERMIT],
])('the floor of %s', (_, request) => {
  it('is the lowest token of all who hold it, said with every grant', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const first = a.take('l', request);
    const second = b.take('l', request);
    expect([first.floor, second.floor]).toEqual([first.token, first.token]);
    expect(floorOf(solo, second.acquireIndex)).toBe(first.token);
    expect(solo.machine.acquires(b.id)).toEqual([second]);
    expect(b.attachAgain().acquires).toEqual([second]);
  });

  it('rises when the holder with the lowest token leaves, however that comes, and not with another', () => {
    const solo = new Solo().raise();
    const { a, b, c, d } = solo.openAll('a', 'b', 'c', 'd');
    const [first, second, third] = [a, b, c].map((session) => session.take('l', request));
    if (!first || !second || !third) throw new Error('no holds');
    b.release(second);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
    a.release(first);
    expect(only(solo.outputs, 'floorRaised')).toEqual({ type: 'floorRaised', lock: 'l' });
    expect(floorOf(solo, third.acquireIndex)).toBe(third.token);
    const last = d.take('l', request);
    solo.expire(c.id);
    expect(only(solo.outputs, 'floorRaised').lock).toBe('l');
    expect(floorOf(solo, last.acquireIndex)).toBe(last.token);
    d.release(last);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
  });

  it('comes with a grant to whoever has waited, and is told to nobody who did not hold before', () => {
    const solo = new Solo().raise();
    const { a, b, c } = solo.openAll('a', 'b', 'c');
    const alone: LockRequest = request.type === 'readWrite' ? WRITE : { type: 'semaphore', permits: 3, count: 3 };
    const held = a.take('l', alone);
    b.take('l', request);
    c.take('l', request);
    a.release(held);
    expect(all(solo.outputs, 'granted')).toMatchObject([
      { session: b.id, token: solo.index, floor: solo.index },
      { session: c.id, token: solo.index, floor: solo.index },
    ]);
    expect(all(solo.outputs, 'floorRaised')).toEqual([]);
  });

  it('is the same after a restore, as is what is told of it', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const first = a.take('l', request);
    b.take('l', request);
    const restored = new Solo();
    restore(bytesOf(solo.machine), solo.index, restored.machine);
    const outputs = [a, a.in(restored)].map((session) => {
      session.release(first);
      return session.solo.outputs;
    });
    expect(outputs[0]).toEqual(outputs[1]);
    expect(outputs[0]?.some(({ type }) => type === 'floorRaised')).toBe(true);
    expect(restored.machine.digest).toBe(solo.machine.digest);
  });
});

describe('a revocation', () => {
  const revocations: readonly (readonly [
    string,
    (operator: SoloSession, victim: SoloSession, hold: number) => void,
  ])[] = [
    [
      'by its command',
      (operator, victim, acquireIndex) => operator.revoke({ lock: 'l', acquireIndex, token: 1 }, victim),
    ],
    ['by a deleted node', (operator) => void operator.delete('/holdfast/locks/l/q-0000000001')],
    ['by a forced end of the session', (operator, victim) => void operator.close(victim.id)],
  ];

  it.each(revocations)('%s gives all who stay a token above that of the hold', (_, revoke) => {
    const solo = new Solo().raise();
    const { a, b, c, operator } = solo.openAll('a', 'b', 'c', 'operator');
    const stays = a.take('l', READ);
    const taken = b.take('l', READ);
    c.take('l', WRITE);
    revoke(operator, b, taken.acquireIndex);
    expect(solo.queue('l')).toEqual([`${a.id}@${solo.index}`, `${c.id}`]);
    expect(solo.index).toBeGreaterThan(taken.token);
    expect(only(solo.outputs, 'floorRaised').lock).toBe('l');
    expect(floorOf(solo, stays.acquireIndex)).toBe(solo.index);
    expect(solo.ask({ type: 'exists', path: '/holdfast/locks/l/q-0000000000' }).stat?.mzxid).toBe(solo.index);
    const restored = new Solo();
    restore(bytesOf(solo.machine), solo.index, restored.machine);
    expect(bytesOf(restored.machine)).toEqual(bytesOf(solo.machine));
  });

  it('of a wait changes no token', () => {
    const solo = new Solo().raise();
    const { a, b, operator } = solo.openAll('a', 'b', 'operator');
    const stays = a.take('l', READ);
    const waits = b.take('l', WRITE);
    operator.revoke(waits, b);
    expect(only(solo.outputs, 'lost')).toMatchObject({ session: b.id, reason: 'revoked' });
    expect(solo.queue('l')).toEqual([`${a.id}@${stays.token}`]);
  });

  it('answers with a token above that of the hold where nobody is next, and with the successor’s where one is', () => {
    const solo = new Solo().raise();
    const { a, b, operator } = solo.openAll('a', 'b', 'operator');
    const held = a.acquire('l');
    expect(asReply(operator.revoke(held, a), 'revoked').token).toBe(solo.index);
    expect(solo.machine.counts.locks).toBe(0);
    const again = a.acquire('l');
    expect(again.token).toBeGreaterThan(solo.index - 1);
    b.acquire('l');
    expect(asReply(operator.revoke(again, a), 'revoked').token).toBe(solo.index);
    expect(solo.queue('l')).toEqual([`${b.id}@${solo.index}`]);
  });

  it('of what is over, of another lock, or of another session is refused', () => {
    const solo = new Solo().raise();
    const { a, operator } = solo.openAll('a', 'operator');
    const held = a.acquire('l');
    for (const [lock, session, acquireIndex] of [
      ['l', a.id, held.acquireIndex + 1],
      ['m', a.id, held.acquireIndex],
      ['l', operator.id, held.acquireIndex],
      ['l', 77_777, held.acquireIndex],
    ] as const) {
      const reply = operator.send({ type: 'revoke', lock, session, acquireIndex });
      expect(asReply(reply, 'error').code).toBe('NOT_FOUND');
    }
    expect(solo.queue('l')).toEqual([`${a.id}@${held.token}`]);
  });
});

describe('an exclusive lock', () => {
  it('has no floor: its one token says it all, and its answers are as they were', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const held = a.acquire('l');
    const waits = b.acquire('l');
    expect(solo.ask({ type: 'verify', lock: 'l', acquireIndex: held.acquireIndex })).toEqual({
      type: 'verify',
      token: held.token,
    });
    a.release(held);
    expect(only(solo.outputs, 'granted')).toEqual({
      type: 'granted',
      session: b.id,
      lock: 'l',
      acquireIndex: waits.acquireIndex,
      token: solo.index,
    });
    expect(solo.ask({ type: 'lock', lock: 'l' }).kind).toBe(LockKind.mutex);
  });
});
