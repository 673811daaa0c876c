import { type LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { asReply, codeOf, Solo } from '../../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', mode: 'read' };
const WRITE: LockRequest = { type: 'readWrite', mode: 'write' };

describe('a read-write lock', () => {
  it('is shared by readers, each under the index of its grant, and held alone by a writer', () => {
    const solo = new Solo().raise();
    const { a, b, c } = solo.openAll('a', 'b', 'c');
    const first = a.take('l', READ);
    const second = b.take('l', READ);
    expect([first.token, second.token]).toEqual([first.acquireIndex, second.acquireIndex]);
    expect(c.take('l', WRITE).token).toBe(0);
    expect(solo.queue('l')).toEqual([`${a.id}@${first.token}`, `${b.id}@${second.token}`, `${c.id}`]);
    a.release(first);
    expect(solo.grantedTo).toEqual([]);
    b.release(second);
    expect(solo.grantedTo).toEqual([c.id]);
    expect(solo.queue('l')).toEqual([`${c.id}@${solo.index}`]);
  });

  it('lets no reader overtake a writer that waits, and grants all readers up to the next writer together', () => {
    const solo = new Solo().raise();
    const { a, b, c, d, e } = solo.openAll('a', 'b', 'c', 'd', 'e');
    const read = a.take('l', READ);
    const writing = b.take('l', WRITE);
    for (const reader of [c, d]) expect(reader.take('l', READ).token).toBe(0);
    e.take('l', WRITE);
    expect(
      asReply(a.send({ type: 'acquire', lock: 'l', kind: 1, wait: false, parameters: [0] }), 'lockHeld').holder,
    ).toMatchObject({ session: a.id, token: read.token });
    a.release(read);
    b.release(writing);
    expect(solo.grantedTo).toEqual([c.id, d.id]);
    expect(solo.queue('l')).toEqual([`${c.id}@${solo.index}`, `${d.id}@${solo.index}`, `${e.id}`]);
  });

  it('grants readers whose writer before them has given up', () => {
    const solo = new Solo().raise();
    const { a, b, c } = solo.openAll('a', 'b', 'c');
    a.take('l', READ);
    const writing = b.take('l', WRITE);
    c.take('l', READ);
    b.cancel(writing);
    expect(solo.grantedTo).toEqual([c.id]);
  });

  it('downgrades a writer in one entry, under its token, and grants the readers that wait at the head', () => {
    const solo = new Solo().raise();
    const { a, b, c, d } = solo.openAll('a', 'b', 'c', 'd');
    const write = a.take('l', WRITE);
    b.take('l', READ);
    c.take('l', WRITE);
    d.take('l', READ);
    const { acquireIndex, token } = write;
    expect(a.convert(write, READ)).toEqual({ type: 'sharedAcquire', acquireIndex, token, floor: token });
    expect(solo.grantedTo).toEqual([b.id]);
    expect(solo.queue('l')).toEqual([`${a.id}@${token}`, `${b.id}@${solo.index}`, `${c.id}`, `${d.id}`]);
    expect(solo.ask({ type: 'lock', lock: 'l' }).queue.map(({ parameters }) => parameters)).toEqual([
      [0],
      [0],
      [1],
      [0],
    ]);
  });

  it('answers a downgrade that comes again as the hold is then', () => {
    const solo = new Solo().raise();
    const { a } = solo.openAll('a');
    const write = a.take('l', WRITE);
    const reply = a.convert(write, READ);
    const again = { type: 'convert', lock: 'l', acquireIndex: write.acquireIndex, parameters: [0] } as const;
    expect(a.resend(a.number, again)).toEqual(reply);
    a.release(write);
    expect(codeOf(a.resend(a.number - 1, again))).toBe('NOT_HELD');
  });

  it('refuses to upgrade a reader and says why, even one that is alone', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const read = a.take('l', READ);
    const { message } = asReply(a.convert(read, WRITE), 'error');
    expect(message).toMatch(
      /two readers who both want that would wait for each other for ever; release it, acquire for writing/,
    );
    expect(asReply(a.convert(read, READ), 'error').message).toContain('it is held for reading already');
    const waits = b.take('l', WRITE);
    expect(asReply(b.convert(waits, READ), 'error').message).toContain('still waits');
    expect(codeOf(b.convert(read, READ))).toBe('NOT_HELD');
    expect(solo.queue('l')).toEqual([`${a.id}@${read.token}`, `${b.id}`]);
  });

  it('is one kind of lock while it is in use, and another when it was idle', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const read = a.take('l', READ);
    expect(b.refused('l', { type: 'mutex' })).toMatch(/^INVALID_ARGUMENT: lock l is in use with another kind/);
    a.release(read);
    expect(b.take('l', { type: 'mutex' }).token).toBe(solo.index);
    expect(asReply(b.convert({ lock: 'l', acquireIndex: solo.index, token: 1 }, READ), 'error').message).toContain(
      'a hold of kind mutex has nothing to be converted to',
    );
  });

  it('is not of an earlier state version', () => {
    const solo = new Solo().raise(3);
    const { a } = solo.openAll('a');
    expect(a.refused('l', READ)).toMatch(/^UNSUPPORTED: lock kind 1 is not of state version 3/);
    expect(codeOf(a.convert({ lock: 'l', acquireIndex: 1, token: 1 }, READ))).toBe('UNSUPPORTED');
  });
});
