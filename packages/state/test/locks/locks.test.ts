import { describe, expect, it } from 'vitest';

import { MAX_LOCK_NAME_LENGTH } from '@holdfast/protocol';

import { acquireCommand, all, asReply, codeOf, only, Solo } from '../support/solo.ts';

const EMPTY = { sessions: 0, locks: 0, holds: 0, waits: 0, nodes: 3, dataBytes: 0, nameBytes: 'holdfastlocks'.length };

describe('a free lock', () => {
  it('is granted by the acquire itself, with the index of its entry as the token', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('l');
    expect(held).toEqual({ lock: 'l', acquireIndex: solo.index, token: solo.index });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['reply']);
  });

  it('is granted to an acquire that was not to wait', () => {
    const solo = new Solo();
    const reply = solo.open().send(acquireCommand('l', false));
    expect(reply).toEqual({ type: 'acquire', acquireIndex: solo.index, token: solo.index });
  });

  it('leaves nothing once it is released: no container, no queue', () => {
    const solo = new Solo();
    const session = solo.open();
    session.release(session.acquire('l'));
    expect(solo.machine.counts).toEqual({ ...EMPTY, sessions: 1 });
    expect(solo.ask({ type: 'children', path: '/holdfast/locks' }).names).toEqual([]);
    expect(solo.ask({ type: 'lock', lock: 'l' })).toEqual({ type: 'lock', queue: [], truncated: false, kind: 0 });
  });
});

describe('a held lock', () => {
  it('makes others wait in the order of their acquires', () => {
    const solo = new Solo();
    const sessions = [solo.open(), solo.open(), solo.open()] as const;
    const [a, b, c] = sessions;
    const held = a.acquire('l');
    expect(b.acquire('l').token).toBe(0);
    expect(c.acquire('l').token).toBe(0);
    expect(solo.queue('l')).toEqual([`${a.id}@${held.token}`, `${b.id}`, `${c.id}`]);
  });

  it('is handed over in the entry that releases it, with that entry as the token', () => {
    const solo = new Solo();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const held = a.acquire('l');
    const next = b.acquire('l');
    c.acquire('l');
    expect(a.release(held)).toEqual({ type: 'done' });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['granted', 'contended', 'reply']);
    expect(only(solo.outputs, 'granted')).toEqual({
      type: 'granted',
      session: b.id,
      lock: 'l',
      acquireIndex: next.acquireIndex,
      token: solo.index,
    });
    expect(solo.queue('l')).toEqual([`${b.id}@${solo.index}`, `${c.id}`]);
  });

  it('refuses an acquire that is not to wait, names the holder, and leaves nothing of it', () => {
    const solo = new Solo();
    const [a, b] = [solo.open('the holder'), solo.open()];
    const held = a.acquire('l');
    const before = solo.machine.counts;
    const creations = (): number => solo.ask({ type: 'exists', path: '/holdfast/locks/l' }).stat?.cversion ?? -1;
    const number = creations();

    expect(b.send(acquireCommand('l', false))).toEqual({
      type: 'lockHeld',
      holder: { session: a.id, label: 'the holder', token: held.token, acquireIndex: held.acquireIndex },
    });

    expect(solo.machine.counts).toEqual(before);
    expect(creations()).toBe(number);
    b.acquire('l');
    expect(solo.ask({ type: 'children', path: '/holdfast/locks/l' }).names).toEqual(['q-0000000000', 'q-0000000001']);
  });

  it('makes another acquire of its own session wait: an owner is one acquire', () => {
    const solo = new Solo();
    const session = solo.open();
    const first = session.acquire('l');
    const second = session.acquire('l');
    expect(second.token).toBe(0);
    session.release(first);
    expect(solo.queue('l')).toEqual([`${session.id}@${solo.index}`]);
  });

  it('is not granted on when a wait behind it ends', () => {
    const solo = new Solo();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const held = a.acquire('l');
    const middle = b.acquire('l');
    c.acquire('l');
    expect(b.cancel(middle)).toEqual({ type: 'cancelled', token: 0 });
    expect(all(solo.outputs, 'granted')).toEqual([]);
    expect(solo.queue('l')).toEqual([`${a.id}@${held.token}`, `${c.id}`]);
  });
});

describe('release', () => {
  it('is NOT_HELD for a wait, for what is gone, for the hold of another session and for another lock', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    const held = a.acquire('l');
    const waiting = b.acquire('l');
    a.acquire('other');
    expect(codeOf(b.release(waiting))).toBe('NOT_HELD');
    expect(codeOf(b.release(held))).toBe('NOT_HELD');
    expect(codeOf(a.release({ ...held, lock: 'other' }))).toBe('NOT_HELD');
    expect(codeOf(a.release({ ...held, acquireIndex: 12_345 }))).toBe('NOT_HELD');
    expect(solo.queue('l')).toEqual([`${a.id}@${held.token}`, `${b.id}`]);
    a.release(held);
    expect(codeOf(a.release(held))).toBe('NOT_HELD');
    expect(solo.queue('l')).toEqual([`${b.id}@${solo.index - 1}`]);
  });
});

describe('cancel', () => {
  it('gives up the hold that the wait has become, says under which token, and hands the lock on', () => {
    const solo = new Solo();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const held = a.acquire('l');
    const waiting = b.acquire('l');
    c.acquire('l');
    a.release(held);
    const token = solo.index;
    expect(b.cancel(waiting)).toEqual({ type: 'cancelled', token });
    expect(only(solo.outputs, 'granted')).toMatchObject({ session: c.id, token: solo.index });
  });

  it('of something gone is NOT_HELD', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('l');
    session.cancel(held);
    expect(codeOf(session.cancel(held))).toBe('NOT_HELD');
    expect(solo.machine.counts.locks).toBe(0);
  });
});

describe('a queue node', () => {
  it('shows its acquire: ephemeral, empty, its czxid the acquire index, its mzxid the token once granted', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    const held = a.acquire('x/y');
    const waiting = b.acquire('x/y');
    const stat = (): unknown => solo.ask({ type: 'exists', path: '/holdfast/locks/x%2Fy/q-0000000001' }).stat;
    expect(stat()).toMatchObject({
      czxid: waiting.acquireIndex,
      mzxid: waiting.acquireIndex,
      ephemeralOwner: b.id,
      dataLength: 0,
      version: 0,
    });
    a.release(held);
    expect(stat()).toMatchObject({ czxid: waiting.acquireIndex, mzxid: solo.index, version: 0 });
    expect(solo.ask({ type: 'exists', path: '/holdfast/locks/x%2Fy' }).stat).toMatchObject({
      ephemeralOwner: 0,
      pzxid: solo.index,
      numChildren: 1,
      cversion: 3,
    });
  });

  it('that is deleted revokes the hold and grants the next in the same entry', () => {
    const solo = new Solo();
    const [a, b, operator] = [solo.open(), solo.open(), solo.open()];
    const held = a.acquire('l');
    const waiting = b.acquire('l');
    expect(operator.delete('/holdfast/locks/l/q-0000000000')).toEqual({ type: 'done' });
    expect(solo.outputs.slice(0, 2)).toEqual([
      { type: 'lost', session: a.id, lock: 'l', acquireIndex: held.acquireIndex, reason: 'revoked' },
      { type: 'granted', session: b.id, lock: 'l', acquireIndex: waiting.acquireIndex, token: solo.index },
    ]);
    expect(codeOf(a.release(held))).toBe('NOT_HELD');
    expect(a.attachAgain().acquires).toEqual([]);
  });

  it('that is deleted ends a wait, and the last one takes the container with it', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    a.acquire('l');
    const waiting = b.acquire('l');
    a.delete('/holdfast/locks/l/q-0000000001', 0);
    expect(solo.outputs.map(({ type }) => type)).toEqual(['lost', 'reply']);
    expect(only(solo.outputs, 'lost')).toMatchObject({ session: b.id, acquireIndex: waiting.acquireIndex });
    a.delete('/holdfast/locks/l/q-0000000000');
    expect(only(solo.outputs, 'lost').session).toBe(a.id);
    expect(solo.machine.counts).toEqual({ ...EMPTY, sessions: 2 });
  });

  it('is protected by the version that a delete demands', () => {
    const solo = new Solo();
    const session = solo.open();
    session.acquire('l');
    expect(codeOf(session.delete('/holdfast/locks/l/q-0000000000', 1))).toBe('BAD_VERSION');
    expect(solo.queue('l')).toHaveLength(1);
  });
});

describe('the nodes of the locks', () => {
  it('are made and changed by nothing but acquire', () => {
    const solo = new Solo();
    const session = solo.open();
    session.acquire('l');
    for (const path of [
      '/holdfast',
      '/holdfast/',
      '/holdfast/mine',
      '/holdfast/locks',
      '/holdfast/locks/l',
      '/holdfast/locks/m',
      '/holdfast/locks/l/q-0000000009',
      '/holdfast/locks/a/b/c',
    ]) {
      expect(codeOf(session.create(path)), path).toBe('RESERVED_PATH');
      expect(codeOf(session.create(path, { sequential: true })), path).toBe('RESERVED_PATH');
      expect(codeOf(session.set(path, 'x')), path).toBe('RESERVED_PATH');
    }
    for (const path of ['/holdfast', '/holdfast/locks', '/holdfast/locks/l']) {
      expect(codeOf(session.delete(path)), path).toBe('RESERVED_PATH');
      expect(codeOf(session.delete(path, 7)), path).toBe('RESERVED_PATH');
    }
    expect(codeOf(session.delete('/holdfast/locks/m'))).toBe('NOT_FOUND');
    expect(solo.queue('l')).toHaveLength(1);
  });

  it('do not reserve paths that only begin like them', () => {
    const solo = new Solo();
    const session = solo.open();
    expect(session.made('/holdfaster')).toBe('/holdfaster');
    expect(session.made('/a')).toBe('/a');
    expect(session.made('/a/holdfast')).toBe('/a/holdfast');
    expect(codeOf(session.set('/holdfaster', 'x'))).toBe('no error but changed');
  });

  it('leave /locks to the users, whose nodes there are no locks, whatever their names', () => {
    const solo = new Solo();
    const session = solo.open();
    session.acquire('l');
    expect(session.made('/locks')).toBe('/locks');
    expect(session.made('/locks/l')).toBe('/locks/l');
    const own = session.made('/locks/l/q-', { ephemeral: true, sequential: true });
    expect(own).toBe('/locks/l/q-0000000000');
    expect(codeOf(session.set('/locks/l', 'x'))).toBe('no error but changed');
    expect(session.delete(own)).toEqual({ type: 'done' });
    expect(session.delete('/locks/l')).toEqual({ type: 'done' });
    expect(solo.queue('l')).toEqual([`${session.id}@${solo.machine.acquires(session.id)[0]?.token}`]);
  });
});

describe('lock names', () => {
  it.each([
    ['', 'is empty'],
    ['x'.repeat(MAX_LOCK_NAME_LENGTH + 1), 'at most 256 characters'],
    ['bad \ufffd', 'U+FFFD'],
    ['\u{1f512}'.repeat(128), 'when encoded'],
  ])('%j is refused with the reason', (name, reason) => {
    const solo = new Solo();
    const reply = asReply(solo.open().send(acquireCommand(name)), 'error');
    expect(reply.code).toBe('INVALID_ARGUMENT');
    expect(reply.message).toContain(reason);
    expect(solo.machine.counts.locks).toBe(0);
  });

  it.each(['.', '..', 'a/b', '50%', 'tab\there', 'Größe', '\u{1f512}', 'x'.repeat(MAX_LOCK_NAME_LENGTH)])(
    '%j gives a lock of its own, whose queue node can be named by its path',
    (name) => {
      const solo = new Solo();
      const session = solo.open();
      const held = session.acquire(name);
      expect(solo.ask({ type: 'locks', prefix: '', after: '', limit: 10 }).locks.map(({ lock }) => lock)).toEqual([
        name,
      ]);
      const [container] = solo.ask({ type: 'children', path: '/holdfast/locks' }).names;
      session.delete(`/holdfast/locks/${container}/q-0000000000`);
      expect(only(solo.outputs, 'lost')).toMatchObject({ lock: name, acquireIndex: held.acquireIndex });
    },
  );
});

describe('the limits of a session', () => {
  it('bound its waits and holds together', () => {
    const solo = new Solo({ maxAcquiresPerSession: 2 });
    const [a, b] = [solo.open(), solo.open()];
    b.acquire('l');
    a.acquire('l');
    const held = a.acquire('m');
    expect(codeOf(a.send(acquireCommand('n')))).toBe('LIMIT_EXCEEDED');
    expect(solo.machine.counts.locks).toBe(2);
    a.release(held);
    expect(a.acquire('n').token).toBe(solo.index);
  });

  it('bound what the attach reply has to list', () => {
    const solo = new Solo({ maxAcquireListBytes: 1_000 });
    const session = solo.open();
    const long = 'ü'.repeat(200);
    const held = session.acquire(`${long}1`);
    session.acquire(`${long}2`);
    expect(codeOf(session.send(acquireCommand(`${long}3`)))).toBe('LIMIT_EXCEEDED');
    session.release(held);
    expect(session.acquire(`${long}3`).token).toBe(solo.index);
  });

  it('and of the tree bound acquires, too', () => {
    const solo = new Solo({ maxNodes: 5 });
    const session = solo.open();
    session.acquire('l');
    expect(codeOf(session.send(acquireCommand('m')))).toBe('LIMIT_EXCEEDED');
  });
});
