import { describe, expect, it } from 'vitest';

import { CommandType, CreateMode, MAX_REMEMBERED_REPLIES, pack, type Command } from '@holdfast/protocol';

import { acquireCommand, asReply, bytes, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

function create(path: string): Command {
  return { type: 'create', path, data: bytes(''), mode: CreateMode.persistentSequential };
}

function refusalOf(session: SoloSession, command: Command, number: number): unknown {
  const outputs = session.solo.apply(session.entry(command, number));
  expect(outputs).toHaveLength(1);
  return only(outputs, 'refused');
}

describe('requests of a session', () => {
  it('take effect once, however often they come', () => {
    const solo = new Solo();
    const session = solo.open();
    const first = session.send(create('/n'));
    expect(session.resend(1, create('/n'))).toEqual(first);
    expect(session.resend(1, create('/n'))).toEqual(first);
    expect(solo.ask({ type: 'children', path: '/' }).names).toEqual(['holdfast', 'n0000000001']);
  });

  it('that failed fail in the same way when they come again', () => {
    const solo = new Solo();
    const session = solo.open();
    const missing = session.delete('/a');
    expect(codeOf(missing)).toBe('NOT_FOUND');
    session.made('/a');
    expect(session.resend(1, { type: 'delete', path: '/a', version: -1 })).toEqual(missing);
    expect(solo.ask({ type: 'exists', path: '/a' }).stat).toBeDefined();
  });

  it('are answered from the reply cache after a new attach, under the generation that asks', () => {
    const solo = new Solo();
    const session = solo.open();
    const first = session.send(create('/n'));
    session.attachAgain();
    solo.apply(session.entry(create('/n'), 1));
    expect(only(solo.outputs, 'reply')).toEqual({
      type: 'reply',
      session: session.id,
      generation: 2,
      number: 1,
      reply: first,
    });
  });

  it('out of order are refused without effect, and take effect when they come in order', () => {
    const solo = new Solo();
    const session = solo.open();
    expect(refusalOf(session, create('/b'), 2)).toMatchObject({ code: 'OUT_OF_ORDER', number: 2, lastApplied: 0 });
    expect(refusalOf(session, create('/b'), 2)).toMatchObject({ code: 'OUT_OF_ORDER', lastApplied: 0 });
    expect(session.send(create('/a'))).toMatchObject({ path: '/a0000000001' });
    expect(session.send(create('/b'))).toMatchObject({ path: '/b0000000002' });
    expect(solo.machine.session(session.id)?.lastApplied).toBe(2);
  });

  it('of an earlier attachment are refused as moved, even in order', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    const late = session.entry(create('/late'), 2);
    session.attachAgain();
    expect(only(solo.apply(late), 'refused')).toMatchObject({ code: 'SESSION_MOVED', generation: 1, lastApplied: 1 });
    const fromTheFuture = session.entry(create('/late'), 2);
    new DataView(fromTheFuture.buffer, fromTheFuture.byteOffset).setUint32(4, 3, true);
    expect(only(solo.apply(fromTheFuture), 'refused').code).toBe('SESSION_MOVED');
    expect(session.create('/next')).toMatchObject({ type: 'created' });
  });

  it('with numbers that are no numbers are refused', () => {
    const solo = new Solo();
    const session = solo.open();
    for (const number of [0, -1, 0.5, NaN, Infinity, 2 ** 53]) {
      expect(refusalOf(session, create('/a'), number)).toMatchObject({ code: 'OUT_OF_ORDER', lastApplied: 0 });
    }
    expect(solo.machine.counts.nodes).toBe(3);
  });

  it('with a malformed payload use up their number and say what is wrong', () => {
    const solo = new Solo();
    const session = solo.open();
    session.number = 1;
    const malformed = session.rawEntry(CommandType.create, pack(['/a']), 1);
    const reply = only(solo.apply(malformed), 'reply').reply;
    expect(reply).toMatchObject({ type: 'error', code: 'INVALID_ARGUMENT' });
    expect(asReply(reply, 'error').message).toContain('create.data');
    expect(only(solo.apply(session.rawEntry(CommandType.create, pack(['/a']), 1)), 'reply').reply).toEqual(reply);
    expect(session.create('/a')).toMatchObject({ type: 'created', path: '/a' });
  });
});

describe('the reply cache', () => {
  it('is trimmed by what a logged command acknowledges', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    session.made('/b');
    session.ackedUpTo = 1;
    session.made('/c');
    expect(refusalOf(session, create('/a'), 1)).toMatchObject({ code: 'OUT_OF_ORDER', number: 1, lastApplied: 3 });
    expect(session.resend(2, create('/b'))).toMatchObject({ type: 'created', path: '/b' });
  });

  it('is not trimmed by a request that is refused', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    session.ackedUpTo = 1;
    refusalOf(session, create('/x'), 9);
    session.ackedUpTo = 0;
    expect(session.resend(1, create('/a'))).toMatchObject({ type: 'created' });
  });

  it('takes an acknowledgement of what is not yet answered for one of all that is', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    session.ackedUpTo = 1_000;
    session.made('/b');
    expect(refusalOf(session, create('/a'), 1)).toMatchObject({ code: 'OUT_OF_ORDER' });
    expect(session.resend(2, create('/b'))).toMatchObject({ type: 'created', path: '/b' });
    session.ackedUpTo = NaN;
    expect(session.create('/c')).toMatchObject({ type: 'created' });
  });

  it('never shrinks back: an older acknowledgement changes nothing', () => {
    const solo = new Solo();
    const session = solo.open();
    for (const path of ['/a', '/b', '/c']) session.made(path);
    session.ackedUpTo = 3;
    session.made('/d');
    session.ackedUpTo = 1;
    session.made('/e');
    expect(refusalOf(session, create('/b'), 2)).toMatchObject({ code: 'OUT_OF_ORDER' });
    expect(session.resend(4, create('/d'))).toMatchObject({ path: '/d' });
  });

  it('is bounded: beyond it a request is refused without effect until some are acknowledged', () => {
    const solo = new Solo();
    const session = solo.open();
    for (let number = 1; number <= MAX_REMEMBERED_REPLIES; number += 1) session.delete('/none');
    const next = MAX_REMEMBERED_REPLIES + 1;
    expect(refusalOf(session, create('/a'), next)).toMatchObject({
      code: 'OVERLOADED',
      lastApplied: MAX_REMEMBERED_REPLIES,
    });
    expect(codeOf(session.resend(1, create('/a')))).toBe('NOT_FOUND');
    session.ackedUpTo = 1;
    expect(session.create('/a')).toMatchObject({ type: 'created' });
    expect(codeOf(session.resend(2, create('/a')))).toBe('NOT_FOUND');
    expect(session.resend(next, create('/a'))).toMatchObject({ path: '/a' });
  });

  it('keeps the right answer at every number while it is filled and trimmed', () => {
    const solo = new Solo();
    const session = solo.open();
    const paths: string[] = [];
    for (let round = 0; round < 400; round += 1) {
      paths.push(session.made('/n', { sequential: true }));
      if (round % 3 === 0) session.ackedUpTo = Math.max(0, session.number - (round % 97));
    }
    session.made('/last');
    const remembered = paths.map((path, position) => {
      const outputs = solo.apply(session.entry(create('/n'), position + 1));
      return outputs[0]?.type === 'reply' ? asReply(outputs[0].reply, 'created').path === path : undefined;
    });
    expect(remembered.slice(0, session.ackedUpTo).every((same) => same === undefined)).toBe(true);
    expect(remembered.slice(session.ackedUpTo).every((same) => same === true)).toBe(true);
    expect(session.ackedUpTo).toBeLessThan(400);
  });
});

describe('an acquire that comes again', () => {
  const command = acquireCommand('l');

  it('is told that it still waits', () => {
    const solo = new Solo();
    const [holder, waiter] = [solo.open(), solo.open()];
    holder.acquire('l');
    const { acquireIndex } = waiter.acquire('l');
    expect(waiter.resend(1, command)).toEqual({ type: 'acquire', acquireIndex, token: 0 });
    expect(solo.queue('l')).toHaveLength(2);
  });

  it('is told of the grant that it has had since', () => {
    const solo = new Solo();
    const [holder, waiter] = [solo.open(), solo.open()];
    const held = holder.acquire('l');
    const { acquireIndex } = waiter.acquire('l');
    holder.release(held);
    expect(waiter.resend(1, command)).toEqual({ type: 'acquire', acquireIndex, token: solo.index - 1 });
  });

  it('is told NOT_HELD when the hold or the wait is gone, and which it was', () => {
    const solo = new Solo();
    const [holder, waiter] = [solo.open(), solo.open()];
    const held = holder.acquire('l');
    const waiting = waiter.acquire('l');
    waiter.cancel(waiting);
    const cancelled = asReply(waiter.resend(1, command), 'error');
    expect(cancelled.code).toBe('NOT_HELD');
    expect(cancelled.message).toContain('before it was granted');
    holder.release(held);
    const released = asReply(holder.resend(1, command), 'error');
    expect(released.code).toBe('NOT_HELD');
    expect(released.message).toContain(`under token ${held.token}`);
    expect(solo.machine.counts.locks).toBe(0);
  });

  it('that was not to wait gets the same refusal, though the lock is free now', () => {
    const solo = new Solo();
    const [holder, other] = [solo.open(), solo.open()];
    const held = holder.acquire('l');
    const refused = other.send(acquireCommand('l', false));
    holder.release(held);
    expect(other.resend(1, acquireCommand('l', false))).toEqual(refused);
  });
});

describe('a release or cancel that comes again', () => {
  it('gets the answer that it had', () => {
    const solo = new Solo();
    const session = solo.open();
    const first = session.acquire('l');
    session.release(first);
    const second = session.acquire('l');
    session.cancel(second);
    expect(session.resend(2, { type: 'release', lock: 'l', acquireIndex: first.acquireIndex })).toEqual({
      type: 'done',
    });
    expect(session.resend(4, { type: 'cancel', lock: 'l', acquireIndex: second.acquireIndex })).toEqual({
      type: 'cancelled',
      token: second.token,
    });
  });
});
