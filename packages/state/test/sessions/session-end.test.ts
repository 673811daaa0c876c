import { describe, expect, it } from 'vitest';

import { all, codeOf, only, SERVER, Solo } from '../support/solo.ts';

describe('a session that is closed', () => {
  it('answers its own close before it tells of the end', () => {
    const solo = new Solo();
    const session = solo.open();
    expect(session.close()).toEqual({ type: 'done' });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['reply', 'sessionEnded']);
    expect(only(solo.outputs, 'sessionEnded')).toEqual({
      type: 'sessionEnded',
      session: session.id,
      reason: 'closed',
    });
    expect(solo.machine.session(session.id)).toBeUndefined();
  });

  it('by its own id is closed, too, and not revoked', () => {
    const solo = new Solo();
    const session = solo.open();
    session.close(session.id);
    expect(only(solo.outputs, 'sessionEnded').reason).toBe('closed');
  });

  it('by another is revoked', () => {
    const solo = new Solo();
    const [operator, victim] = [solo.open(), solo.open()];
    const held = victim.acquire('l');
    const waiting = operator.acquire('l');
    expect(operator.close(victim.id)).toEqual({ type: 'done' });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['granted', 'reply', 'sessionEnded']);
    expect(only(solo.outputs, 'sessionEnded')).toMatchObject({ session: victim.id, reason: 'revoked' });
    expect(only(solo.outputs, 'granted')).toMatchObject({ session: operator.id, acquireIndex: waiting.acquireIndex });
    expect(held.token).toBeLessThan(solo.index);
  });

  it('that does not exist is NOT_FOUND', () => {
    const solo = new Solo();
    expect(codeOf(solo.open().close(999))).toBe('NOT_FOUND');
  });

  it('refuses what comes after', () => {
    const solo = new Solo();
    const session = solo.open();
    session.close();
    const outputs = session.submit({ type: 'closeSession', session: 0 });
    expect(outputs).toEqual([
      {
        type: 'refused',
        server: SERVER,
        session: session.id,
        generation: 1,
        number: 2,
        code: 'SESSION_EXPIRED',
        lastApplied: 0,
      },
    ]);
  });
});

describe('a session that expires', () => {
  it('loses its nodes, waits and holds in the same entry, and its locks are granted on in it', () => {
    const solo = new Solo();
    const [dead, alive] = [solo.open(), solo.open()];
    alive.made('/dir');
    dead.made('/dir/n', { ephemeral: true });
    dead.acquire('b');
    dead.acquire('a');
    alive.acquire('c');
    dead.acquire('c');
    const [onB, onA] = [alive.acquire('b'), alive.acquire('a')];
    const index = solo.index + 1;

    const outputs = solo.expire(dead.id);

    expect(outputs).toEqual([
      // By the names of the locks.
      { type: 'granted', session: alive.id, lock: 'a', acquireIndex: onA.acquireIndex, token: index },
      { type: 'granted', session: alive.id, lock: 'b', acquireIndex: onB.acquireIndex, token: index },
      { type: 'sessionEnded', session: dead.id, reason: 'expired' },
    ]);
    expect(solo.queue('a')).toEqual([`${alive.id}@${index}`]);
    expect(solo.queue('c')).toHaveLength(1);
    expect(solo.ask({ type: 'exists', path: '/dir/n' }).stat).toBeUndefined();
    expect(solo.ask({ type: 'exists', path: '/dir' }).stat).toMatchObject({
      pzxid: index,
      cversion: 2,
      numChildren: 0,
    });
  });

  it('never gives one of its locks to another of its own waits', () => {
    const solo = new Solo();
    const [dead, alive] = [solo.open(), solo.open()];
    dead.acquire('l');
    dead.acquire('l');
    alive.acquire('l');
    dead.acquire('l');
    expect(all(solo.expire(dead.id), 'granted').map(({ session }) => session)).toEqual([alive.id]);
    expect(solo.queue('l')).toEqual([`${alive.id}@${solo.index}`]);
  });

  it('lives on when it was attached again after the leader decided', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('l');
    session.attachAgain();
    expect(solo.expire(session.id, 1)).toEqual([{ type: 'sessionSurvived', session: session.id }]);
    expect(solo.queue('l')).toEqual([`${session.id}@${held.token}`]);
    expect(solo.expire(session.id, 2)).toHaveLength(1);
  });

  it('expires once: a second decision has no effect', () => {
    const solo = new Solo();
    const session = solo.open();
    solo.expire(session.id);
    expect(solo.expire(session.id)).toEqual([]);
    expect(solo.expire(12_345)).toEqual([]);
  });

  it('leaves nothing: the tree is as empty as before it came', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/e', { ephemeral: true, data: 'some' });
    session.acquire('x');
    session.acquire('y');
    solo.expire(session.id);
    expect(solo.machine.counts).toEqual({
      sessions: 0,
      locks: 0,
      holds: 0,
      waits: 0,
      nodes: 3,
      dataBytes: 0,
      nameBytes: 'holdfastlocks'.length,
    });
  });
});
