import { describe, expect, it } from 'vitest';

import { encodeCommand, CommandType, pack } from '@holdfast/protocol';
import { encodeEntry } from '@holdfast/state';

import { asReply, codeOf, only, SERVER, Solo } from '../support/solo.ts';

describe('attaching', () => {
  it('creates a session whose id is the index of its entry', () => {
    const solo = new Solo();
    solo.noop();
    const reply = solo.attach({ secret: solo.secret(), timeoutMs: 5_000, label: 'a' });

    expect(reply).toEqual({
      type: 'attached',
      session: 2,
      generation: 1,
      timeoutMs: 5_000,
      lastApplied: 0,
      acquires: [],
    });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['sessionCreated', 'attached']);
    expect(only(solo.outputs, 'sessionCreated')).toEqual({ type: 'sessionCreated', session: 2, timeoutMs: 5_000 });
    expect(only(solo.outputs, 'attached')).toMatchObject({ server: SERVER, correlation: 4_711 });
    expect(solo.machine.session(2)).toEqual({
      id: 2,
      timeoutMs: 5_000,
      generation: 1,
      label: 'a',
      lastApplied: 0,
      server: SERVER,
      replyBytes: 0,
      ending: false,
    });
  });

  it('with a known secret gives the same session a new generation, and keeps the timeout and label of its creation', () => {
    const solo = new Solo();
    const session = solo.open('first');
    const again = asReply(solo.attach({ secret: session.secret, timeoutMs: 99_000, label: 'second' }), 'attached');

    expect(again).toMatchObject({ session: session.id, generation: 2, timeoutMs: 10_000 });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['attached']);
    expect(solo.machine.session(session.id)).toMatchObject({ label: 'first', timeoutMs: 10_000, generation: 2 });
    expect(solo.machine.counts.sessions).toBe(1);
  });

  it('tells the last applied number and every wait and hold by acquire index', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    const taken = a.acquire('z');
    const held = b.acquire('a');
    const waiting = b.acquire('z');
    const alsoHeld = b.acquire('b');

    expect(b.attachAgain()).toMatchObject({ lastApplied: 3, acquires: [held, waiting, alsoHeld] });
    a.release(taken);
    const granted = { ...waiting, token: solo.index };
    expect(b.attachAgain().acquires).toEqual([held, granted, alsoHeld]);
  });

  it('to a session that has ended, or with another secret, is SESSION_EXPIRED and creates nothing', () => {
    const solo = new Solo();
    const session = solo.open();
    const other = solo.open();
    expect(codeOf(solo.attach({ secret: solo.secret(), session: session.id }))).toBe('SESSION_EXPIRED');
    expect(codeOf(solo.attach({ secret: other.secret, session: session.id }))).toBe('SESSION_EXPIRED');
    session.close();
    expect(codeOf(solo.attach({ secret: session.secret, session: session.id }))).toBe('SESSION_EXPIRED');
    expect(solo.machine.counts.sessions).toBe(1);
    expect(solo.machine.session(other.id)).toMatchObject({ generation: 1 });
  });

  it('with the secret of a closed session makes a new one, since secrets are forgotten and ids never come back', () => {
    const solo = new Solo();
    const session = solo.open();
    session.close();
    const reply = asReply(solo.attach({ secret: session.secret }), 'attached');
    expect(reply.session).toBe(solo.index);
    expect(reply).toMatchObject({ generation: 1, lastApplied: 0 });
  });

  it('is LIMIT_EXCEEDED beyond the number of sessions, but not for a session that exists', () => {
    const solo = new Solo({ maxSessions: 2 });
    const first = solo.open();
    const second = solo.open();
    expect(codeOf(solo.attach({ secret: solo.secret() }))).toBe('LIMIT_EXCEEDED');
    expect(first.attachAgain().session).toBe(first.id);
    second.close();
    expect(asReply(solo.attach({ secret: solo.secret() }), 'attached').session).toBe(solo.index);
  });

  it('is LIMIT_EXCEEDED beyond the number of sessions of one label, and not for another label', () => {
    const solo = new Solo({ maxSessionsPerLabel: 2 });
    const [first] = [solo.open('many'), solo.open('many')];
    expect(codeOf(solo.attach({ secret: solo.secret(), label: 'many' }))).toBe('LIMIT_EXCEEDED');
    expect(first?.attachAgain().session).toBe(first?.id);
    solo.open('');
    solo.open('other');
    first?.close();
    solo.open('many');
  });

  it('with a malformed payload is answered INVALID_ARGUMENT to the server that asked', () => {
    const solo = new Solo();
    const header = { command: CommandType.attach, generation: 0, session: 0, number: 5, ackedUpTo: 0 };
    const short = encodeCommand({
      type: 'attach',
      secretHash: new Uint8Array(3),
      session: 0,
      timeoutMs: 5_000,
      label: '',
    });
    for (const payload of [new Uint8Array(0), short, pack(['x']), new Uint8Array([0xc1])]) {
      const outputs = solo.apply(encodeEntry(header, payload));
      expect(only(outputs, 'attached')).toMatchObject({
        server: SERVER,
        correlation: 5,
        reply: { type: 'error', code: 'INVALID_ARGUMENT' },
      });
    }
    expect(solo.machine.counts.sessions).toBe(0);
  });
});

describe('the sessions that a leader arms its timers from', () => {
  it('come by id', () => {
    const solo = new Solo();
    const opened = [solo.open(), solo.open(), solo.open()];
    opened[0]?.attachAgain();
    expect(solo.machine.sessions().map(({ id, generation }) => [id, generation])).toEqual([
      [1, 2],
      [2, 1],
      [3, 1],
    ]);
  });
});
