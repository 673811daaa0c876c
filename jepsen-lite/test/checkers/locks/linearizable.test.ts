import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { checkLinearizableLocks } from '../../../src/checkers/locks/linearizable.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

const NODE = { f: 'set', path: '/sign-of-life', value: '1' } as const;

describe('the locks of a run, seen from outside', () => {
  it('are explained by holders that take turns', () => {
    const story = new Story();
    story.release(story.acquire('a', 1));
    story.release(story.acquire('a', 2));
    const verdict = checkLinearizableLocks(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ locks: 1, operations: 4, givenUp: 0 });
  });

  it('are broken by a second holder while the first is known to be there', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const second = story.acquire('a', 2);
    story.ask({ ...NODE, session: 1 }).ok();
    story.release(held);
    expectBroken(
      checkLinearizableLocks(story.history),
      /^lock a: no order explains that session 2 acquired it with token \d+; it was held by 1 with token \d+,/,
      held.invoke,
      held.ok,
      second.invoke,
      second.ok,
    );
  });

  it('may be granted again when the session of a holder has given no sign of life since', () => {
    const story = new Story();
    story.acquire('a', 1);
    story.release(story.acquire('a', 2));
    expectValid(checkLinearizableLocks(story.history));
  });

  it('may be granted again when the holder was notified that it has lost it, though its session lives on', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    story.release(story.acquire('a', 2));
    story.lose(held, 'revoked');
    story.ask({ ...NODE, session: 1 }).ok();
    expectValid(checkLinearizableLocks(story.history));
  });

  it('may be granted again before a holder is refused its release', () => {
    const story = new Story();
    const { lock, session, token, hold } = story.acquire('a', 1);
    story.release(story.acquire('a', 2));
    story.ask({ f: 'release', lock, session, token, hold }).fail('LOCK_LOST');
    story.ask({ ...NODE, session: 1 }).ok();
    expectValid(checkLinearizableLocks(story.history));
  });

  it('are broken by a token that falls', () => {
    const story = new Story();
    const first = story.ask({ f: 'acquire', lock: 'a', session: 1 });
    first.ok({ token: 20, hold: 20 });
    const later = story.ask({ f: 'acquire', lock: 'a', session: 2 });
    later.ok({ token: 10, hold: 10 });
    expect(checkLinearizableLocks(story.history)).toMatchObject({ valid: false });
  });

  it('may have been granted, or not, to who was never notified', () => {
    const story = new Story();
    story.ask({ f: 'acquire', lock: 'a', session: 1 }).info();
    story.release(story.acquire('a', 2));
    expectValid(checkLinearizableLocks(story.history));
  });

  it('explain who is said to hold them', () => {
    const story = new Story();
    const asked = story.ask({ f: 'status', lock: 'a', session: 3 });
    const held = story.acquire('a', 1);
    asked.ok({ holder: null, token: 0 });
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: 1, token: held.token });
    story.release(held);
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: null, token: 0 });
    const verdict = checkLinearizableLocks(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ statuses: 3, heldStatuses: 1 });
  });

  it('explain a hold that is seen, was granted at the last moment and given back', () => {
    const story = new Story();
    const given = story.ask({ f: 'acquire', lock: 'a', session: 1, waitMs: 100 });
    given.fail('TIMEOUT');
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: 1, token: 11 });
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: null, token: 0 });
    story.ask({ ...NODE, session: 1 }).ok();
    const later = story.ask({ f: 'acquire', lock: 'a', session: 2 });
    later.ok({ token: 15, hold: 15 });
    expectValid(checkLinearizableLocks(story.history));
  });

  it('are broken by a holder that is shown after its release was answered', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const { ok } = story.release(held);
    const asked = story.ask({ f: 'status', lock: 'a', session: 3 });
    const stale = asked.ok({ holder: 1, token: held.token });
    const words = /no order explains that session 3 saw that 1 holds it with token \d+; it was free/;
    const verdict = checkLinearizableLocks(story.history);
    expect(verdict.valid).toBe(false);
    expect(verdict.broken[0]?.message).toMatch(words);
    expect(verdict.broken[0]?.events).toEqual(expect.arrayContaining([ok.seq, asked.invoke.seq, stale.seq]));
  });

  it('are broken by a lock that is said to be free, and is held', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: null, token: 0 });
    story.ask({ ...NODE, session: 1 }).ok();
    story.release(held);
    expect(checkLinearizableLocks(story.history).valid).toBe(false);
  });

  it('are broken by a holder with another token than its grant had', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: 1, token: held.token + 1 });
    expect(checkLinearizableLocks(story.history).valid).toBe(false);
  });

  it('are broken by a holder that has asked for nothing', () => {
    const story = new Story();
    story.release(story.acquire('a', 1));
    story.ask({ f: 'status', lock: 'a', session: 3 }).ok({ holder: 9, token: 99 });
    expect(checkLinearizableLocks(story.history).valid).toBe(false);
  });

  it('cannot be judged where nobody was notified of a grant', () => {
    const story = new Story();
    story.ask({ f: 'acquire', lock: 'a', session: 1 }).fail('TIMEOUT');
    expectUnknown(checkLinearizableLocks(story.history));
  });

  it('are given up, not passed, when the search may take no more', () => {
    const story = new Story();
    for (let turn = 0; turn < 20; turn += 1) story.release(story.acquire('a', 1 + (turn % 2)));
    const verdict = checkLinearizableLocks(story.history, { searchBudget: 3 });
    expectUnknown(verdict);
    expect(verdict.counts).toMatchObject({ givenUp: 1 });
  });
});

describe('locks of other kinds, seen from outside', () => {
  const READ: LockRequest = { type: 'readWrite', write: false };
  const WRITE: LockRequest = { type: 'readWrite', write: true };
  const permits = (count: number): LockRequest => ({ type: 'semaphore', permits: count, limit: 3 });

  it('are explained by the models of their kinds', () => {
    const story = new Story();
    const readers = [story.acquire('a', 1, READ), story.acquire('a', 2, READ)];
    for (const reader of readers) story.release(reader);
    const writer = story.acquire('a', 1, WRITE);
    story.downgrade(writer);
    story.release(story.acquire('a', 2, READ));
    story.release(writer);
    const holders = [story.acquire('b', 1, permits(2)), story.acquire('b', 2, permits(1))];
    for (const holder of holders) story.release(holder);
    const hold = { token: 30, hold: 30 };
    const entries = [story.enter('c', 1, '1.0', hold), story.enter('c', 1, '1.0', hold)];
    for (const entry of entries) story.leave(entry);
    story.release(story.acquire('d', 1));
    const verdict = checkLinearizableLocks(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ locks: 4 });
  });

  it('may have been downgraded or not, where nobody was told', () => {
    const story = new Story();
    const { lock, session, token, hold } = story.acquire('a', 1, WRITE);
    story.ask({ f: 'downgrade', lock, session, token, hold }).info();
    const reader = story.acquire('a', 2, READ);
    story.release({ lock, session, token, hold });
    story.release(reader);
    expectValid(checkLinearizableLocks(story.history));
  });

  it('are broken by one who writes while another one is known to read', () => {
    const story = new Story();
    const reader = story.acquire('a', 1, READ);
    story.acquire('a', 2, WRITE);
    story.ask({ ...NODE, session: 1 }).ok();
    story.release(reader);
    expect(checkLinearizableLocks(story.history)).toMatchObject({ valid: false });
  });

  it('are broken by more permits than there are', () => {
    const story = new Story();
    const held = story.acquire('a', 1, permits(2));
    story.acquire('a', 2, permits(2));
    story.ask({ ...NODE, session: 1 }).ok();
    story.release(held);
    expect(checkLinearizableLocks(story.history)).toMatchObject({ valid: false });
  });

  it('are broken by an entry more than there may be, and by a new token for one of them', () => {
    const hold = { token: 11, hold: 11 };
    const often = new Story();
    for (let n = 0; n < 4; n += 1) often.enter('a', 1, '1.0', hold);
    expect(checkLinearizableLocks(often.history)).toMatchObject({ valid: false });
    const changed = new Story();
    const entry = changed.enter('a', 1, '1.0', hold);
    changed.enter('a', 1, '1.0', { token: 12, hold: 12 });
    changed.leave(entry);
    changed.leave(entry);
    expect(checkLinearizableLocks(changed.history)).toMatchObject({ valid: false });
  });
});
