/** The read-write lock: many who read, or one who writes, and nobody who overtakes. */

import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { copyOf } from '../support/snapshots.ts';
import { all, asReply, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };

function begin(count: number): { readonly solo: Solo; readonly sessions: readonly SoloSession[] } {
  const solo = new Solo().raise();
  return { solo, sessions: Array.from({ length: count }, () => solo.open()) };
}

/** What the session has asked for, as later commands name it. */
function ask(
  session: SoloSession | undefined,
  request: LockRequest,
): { lock: string; acquireIndex: number; token: number } {
  if (session === undefined) throw new Error('no session');
  const { acquireIndex, token } = asReply(session.acquireAs('l', request), 'acquire');
  return { lock: 'l', acquireIndex, token };
}

describe('a read-write lock', () => {
  it('is held by all who read, and by one who writes', () => {
    const { solo, sessions } = begin(4);
    const [a, b, c, d] = sessions;
    expect(ask(a, READ).token).toBe(solo.index);
    expect(ask(b, READ).token).toBe(solo.index);
    expect(ask(c, WRITE).token).toBe(0);
    expect(asReply(d?.acquireAs('l', WRITE, false) as never, 'lockHeld').holder.session).toBe(a?.id);
  });

  it('lets no reader overtake who waits to write, nor a try', () => {
    const { sessions } = begin(4);
    const [a, b, c, d] = sessions;
    ask(a, READ);
    expect(ask(b, WRITE).token).toBe(0);
    expect(ask(c, READ).token).toBe(0);
    expect(d?.acquireAs('l', READ, false).type).toBe('lockHeld');
  });

  it('goes to all readers at its head in the entry in which the writer leaves, under one token', () => {
    const { solo, sessions } = begin(5);
    const [a, b, c, d, e] = sessions;
    const writer = ask(a, WRITE);
    for (const reader of [b, c]) ask(reader, READ);
    ask(d, WRITE);
    ask(e, READ);
    a?.release(writer);
    expect(all(solo.outputs, 'granted')).toMatchObject([
      { session: b?.id, token: solo.index },
      { session: c?.id, token: solo.index },
    ]);
    expect(solo.queue('l')).toEqual([`${b?.id}@${solo.index}`, `${c?.id}@${solo.index}`, `${d?.id}`, `${e?.id}`]);
  });

  it('goes to who waits to write when the last reader has gone, whichever of them goes last', () => {
    const { solo, sessions } = begin(3);
    const [a, b, c] = sessions;
    const [first, second] = [ask(a, READ), ask(b, READ)];
    ask(c, WRITE);
    b?.release(second);
    expect(all(solo.outputs, 'granted')).toEqual([]);
    a?.release(first);
    expect(only(solo.outputs, 'granted')).toMatchObject({ session: c?.id, token: solo.index });
  });

  it('goes on to readers when who waits to write gives up', () => {
    const { solo, sessions } = begin(3);
    const [a, b, c] = sessions;
    ask(a, READ);
    const waiting = ask(b, WRITE);
    const reader = ask(c, READ);
    expect(b?.cancel(waiting)).toEqual({ type: 'cancelled', token: 0 });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: reader.acquireIndex, token: solo.index });
  });

  it('is not of the kind of another lock of that name', () => {
    const { sessions } = begin(2);
    const [a, b] = sessions;
    ask(a, READ);
    expect(codeOf(b?.acquireAs('l', { type: 'mutex' }) as never)).toBe('INVALID_ARGUMENT');
  });
});

describe('a hold to write that is downgraded', () => {
  it('is one to read under the same token, beside the readers at the head of the queue', () => {
    const { solo, sessions } = begin(4);
    const [a, b, c, d] = sessions;
    const hold = ask(a, WRITE);
    const reader = ask(b, READ);
    ask(c, WRITE);
    ask(d, READ);
    expect(a?.downgrade(hold)).toEqual({ type: 'done' });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['granted', 'contended', 'reply']);
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: reader.acquireIndex, token: solo.index });
    expect(solo.queue('l')).toEqual([`${a?.id}@${hold.token}`, `${b?.id}@${solo.index}`, `${c?.id}`, `${d?.id}`]);
    expect(solo.ask({ type: 'lock', lock: 'l' }).queue[0]).toMatchObject({ parameters: [false] });
    expect(solo.ask({ type: 'verify', lock: 'l', acquireIndex: hold.acquireIndex }).token).toBe(hold.token);
  });

  it('is downgraded once, whatever comes again', () => {
    const { sessions } = begin(1);
    const [a] = sessions;
    const hold = ask(a, WRITE);
    a?.downgrade(hold);
    const { lock, acquireIndex } = hold;
    expect(a?.resend(2, { type: 'downgrade', lock, acquireIndex })).toEqual({ type: 'done' });
    expect(codeOf(a?.downgrade(hold) as never)).toBe('INVALID_ARGUMENT');
  });

  it('is the same on a machine that was restored before or after', () => {
    const { solo, sessions } = begin(3);
    const [a, b] = sessions;
    const hold = ask(a, WRITE);
    ask(b, READ);
    const before = new Solo();
    Object.assign(before, { machine: copyOf(solo.machine) });
    a?.in(before).downgrade(hold);
    a?.downgrade(hold);
    const after = new Solo();
    Object.assign(after, { machine: copyOf(solo.machine) });
    for (const other of [before, after]) {
      expect(other.machine.digest).toBe(solo.machine.digest);
      expect(other.ask({ type: 'lock', lock: 'l' })).toEqual(solo.ask({ type: 'lock', lock: 'l' }));
    }
  });

  it('must be one: not a wait, not one to read, not of a mutex, not what is gone', () => {
    const { sessions } = begin(3);
    const [a, b, c] = sessions;
    const hold = ask(a, READ);
    expect(codeOf(a?.downgrade(hold) as never)).toBe('INVALID_ARGUMENT');
    const waiting = ask(b, WRITE);
    expect(codeOf(b?.downgrade(waiting) as never)).toBe('NOT_HELD');
    expect(codeOf(c?.downgrade({ lock: 'm', acquireIndex: hold.acquireIndex }) as never)).toBe('NOT_HELD');
    const mutex = c?.acquire('m');
    expect(codeOf(c?.downgrade(mutex as never) as never)).toBe('INVALID_ARGUMENT');
  });
});

it('is UNSUPPORTED before state version 4, as are its commands', () => {
  const session = new Solo().raise(3).open();
  expect(codeOf(session.acquireAs('l', READ))).toBe('UNSUPPORTED');
  expect(codeOf(session.downgrade({ lock: 'l', acquireIndex: 1 }))).toBe('UNSUPPORTED');
  expect(codeOf(session.acquireSeveral(['a', 'b']))).toBe('UNSUPPORTED');
});
