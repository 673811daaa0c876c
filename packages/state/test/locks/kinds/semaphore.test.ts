import { type LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { asReply, Solo } from '../../support/solo.ts';

const of = (permits: number, count = 1): LockRequest => ({ type: 'semaphore', permits, count });

describe('a semaphore', () => {
  it('is held by as many as there are permits, several of one holder counted', () => {
    const solo = new Solo().raise();
    const { a, b, c, d } = solo.openAll('a', 'b', 'c', 'd');
    const two = a.take('s', of(4, 2));
    expect(b.take('s', of(4)).token).toBe(solo.index);
    expect(c.take('s', of(4)).token).toBe(solo.index);
    expect(d.take('s', of(4)).token).toBe(0);
    a.release(two);
    expect(solo.grantedTo).toEqual([d.id]);
    expect(d.take('s', of(4), false).token).toBe(solo.index);
    expect(
      asReply(a.send({ type: 'acquire', lock: 's', kind: 2, wait: false, parameters: [4, 1] }), 'lockHeld'),
    ).toBeTruthy();
  });

  it('passes nobody over who wants many by those who want few', () => {
    const solo = new Solo().raise();
    const { a, b, c, d } = solo.openAll('a', 'b', 'c', 'd');
    const one = a.take('s', of(3));
    expect(b.take('s', of(3, 3)).token).toBe(0);
    expect(c.take('s', of(3)).token).toBe(0);
    d.take('s', of(3));
    a.release(one);
    expect(solo.grantedTo).toEqual([b.id]);
  });

  it('grants all who wait and fit, in one entry and under one token', () => {
    const solo = new Solo().raise();
    const { a, b, c, d } = solo.openAll('a', 'b', 'c', 'd');
    const all = a.take('s', of(3, 3));
    b.take('s', of(3, 2));
    c.take('s', of(3));
    d.take('s', of(3));
    a.release(all);
    expect(solo.grantedTo).toEqual([b.id, c.id]);
    expect(solo.queue('s')).toEqual([`${b.id}@${solo.index}`, `${c.id}@${solo.index}`, `${d.id}`]);
  });

  it('takes some of the permits of a hold back, and grants them to who waits', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const three = a.take('s', of(3, 3));
    b.take('s', of(3, 2));
    expect(a.convert(three, of(3, 2)).type).toBe('sharedAcquire');
    expect(solo.grantedTo).toEqual([]);
    a.convert(three, of(3, 1));
    expect(solo.grantedTo).toEqual([b.id]);
    expect(solo.ask({ type: 'lock', lock: 's' }).queue).toMatchObject([{ parameters: [3, 1] }, { parameters: [3, 2] }]);
    expect(asReply(a.convert(three, of(3, 2)), 'error').message).toMatch(
      /has 1 permits and can give some back, not get 2/,
    );
    expect(asReply(a.convert(three, of(4, 1)), 'error').message).toContain('the semaphore has 3 permits, not 4');
  });

  it('has one number of permits while it is in use', () => {
    const solo = new Solo().raise();
    const { a, b } = solo.openAll('a', 'b');
    const held = a.take('s', of(3));
    expect(b.refused('s', of(5))).toBe(
      'INVALID_ARGUMENT: lock s is in use with 3 permits, and this asks for one with 5: use one number for a semaphore',
    );
    a.release(held);
    expect(b.take('s', of(5)).token).toBe(solo.index);
  });

  it.each([
    ['more permits than it has', [3, 4], /asks for 4 permits of a semaphore that has 3/],
    ['none', [3, 0], /semaphore\.count|count must be/],
    ['of a semaphore without any', [0, 1], /permits must be/],
    ['of one with too many', [1_000_001, 1], /permits must be/],
    ['without saying how many', [3], /./],
  ])('refuses who asks for %s', (_, parameters, expected) => {
    const solo = new Solo().raise();
    const reply = solo.open().send({ type: 'acquire', lock: 's', kind: 2, wait: true, parameters });
    expect(asReply(reply, 'error').code).toBe('INVALID_ARGUMENT');
    expect(asReply(reply, 'error').message).toMatch(expected);
    expect(solo.machine.counts.locks).toBe(0);
  });
});
