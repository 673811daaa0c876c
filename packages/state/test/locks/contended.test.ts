/** Those who hold a lock can hear that others wait for it, and are told so once as long as somebody does. */

import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { all, asReply, Solo, type SoloSession } from '../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };

function contended({ outputs }: Solo): string[] {
  return all(outputs, 'contended').map(({ lock }) => lock);
}

function ask(session: SoloSession, request: LockRequest): { lock: string; acquireIndex: number; token: number } {
  const { acquireIndex, token } = asReply(session.acquireAs('l', request), 'acquire');
  return { lock: 'l', acquireIndex, token };
}

describe('a lock that is held', () => {
  it('is contended when the first comes who waits, and not again for the next', () => {
    const solo = new Solo();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    a.acquire('l');
    expect(contended(solo)).toEqual([]);
    b.acquire('l');
    expect(contended(solo)).toEqual(['l']);
    c.acquire('l');
    expect(contended(solo)).toEqual([]);
  });

  it('is contended at its grant where others wait on, and not where nobody does', () => {
    const solo = new Solo();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const first = a.acquire('l');
    const second = b.acquire('l');
    c.acquire('l');
    a.release(first);
    expect(contended(solo)).toEqual(['l']);
    b.release(second);
    expect(contended(solo)).toEqual([]);
  });

  it('is contended for readers behind whom one waits to write', () => {
    const solo = new Solo().raise();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const writer = ask(a, WRITE);
    ask(b, READ);
    ask(c, WRITE);
    a.release(writer);
    expect(contended(solo)).toEqual(['l']);
  });

  it('is contended by an acquire of several locks, but where it waits for a lock that nobody holds', () => {
    const solo = new Solo().raise();
    const [a, b] = [solo.open(), solo.open()];
    const held = a.acquire('x');
    b.acquireSeveral(['x', 'y']);
    expect(contended(solo)).toEqual(['x']);
    a.acquire('y');
    expect(contended(solo)).toEqual([]);
    a.release(held);
    // It holds both now, and somebody waits for one of them.
    expect(contended(solo)).toEqual(['y']);
  });
});

describe('what holders are told of', () => {
  it('is found by lock, in pieces, and by session', () => {
    const solo = new Solo().raise();
    const sessions = Array.from({ length: 5 }, () => solo.open());
    const indexes = sessions.map((session) => ask(session, READ).acquireIndex);
    const first = solo.machine.lockHolds('l', 0, 3);
    expect(first?.more).toBe(true);
    expect(first?.holds.map(({ acquireIndex }) => acquireIndex)).toEqual(indexes.slice(0, 3));
    const rest = solo.machine.lockHolds('l', indexes[2] ?? 0, 3);
    expect(rest?.more).toBe(false);
    expect(rest?.holds.map(({ acquireIndex }) => acquireIndex)).toEqual(indexes.slice(3));
    ask(solo.open(), WRITE);
    const [reader] = sessions;
    expect(solo.machine.sessionHolds(reader?.id ?? 0)).toEqual([
      { session: reader?.id, lock: 'l', acquireIndex: indexes[0], floor: indexes[0], contended: true },
    ]);
    expect(solo.machine.lockHolds('nobody holds it', 0, 3)).toBeUndefined();
    expect(solo.machine.sessionHolds(solo.index + 1)).toEqual([]);
  });

  it('has no floor where a lock is held alone, and each lock of several', () => {
    const solo = new Solo().raise();
    const session = solo.open();
    const acquireIndex = asReply(session.acquireSeveral(['a', { lock: 'b', asked: READ }]), 'acquire').acquireIndex;
    expect(solo.machine.sessionHolds(session.id)).toEqual([
      { session: session.id, lock: 'a', acquireIndex, floor: 0, contended: false },
      { session: session.id, lock: 'b', acquireIndex, floor: acquireIndex, contended: false },
    ]);
  });
});
