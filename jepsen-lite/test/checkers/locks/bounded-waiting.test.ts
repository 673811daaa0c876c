import { describe, expect, it } from 'vitest';
import { checkBoundedWaiting } from '../../../src/checkers/locks/waiting/bounded-waiting.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

/** Session 2 has shown on the healed system that it is alive; session 1 holds the lock, and session 2 waits for it. */
function waiting() {
  const story = new Story();
  story.record({ type: 'phase', phase: 'healed' }, 'harness');
  const alive = story.ask({ f: 'status', lock: 'b', session: 2 });
  alive.ok({ holder: null, token: 0 });
  const held = story.acquire('a', 1);
  const asked = story.ask({ f: 'acquire', lock: 'a', session: 2 });
  const wait = story.enqueue('a', 2);
  return { story, held, asked, wait };
}

describe('a wait on the healed system', () => {
  it('may take as long as whoever is before it holds the lock', () => {
    const { story, held, asked, wait } = waiting();
    story.pass(60_000);
    story.release(held);
    const { token } = story.grant('a', 2, wait.hold, story.nextIndex());
    story.pass(9_000);
    asked.ok({ token, hold: wait.hold });
    const verdict = checkBoundedWaiting(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ waits: 2, judged: 2, behindOthers: 1, longestMs: 9_000 });
  });

  it('is over for whoever gives up in time, or whose session ends', () => {
    const { story, held, asked, wait } = waiting();
    story.pass(60_000);
    asked.fail('TIMEOUT');
    story.remove(wait, 'cancelled');
    story.pass(1);
    story.release(held);
    const other = story.ask({ f: 'acquire', lock: 'a', session: 2 });
    const gone = story.enqueue('a', 2);
    story.pass(60_000);
    story.remove(gone, 'expired');
    other.fail('SESSION_EXPIRED');
    // Only that of the holder is judged: one gave up while somebody was before it, the other ended with its session.
    const verdict = checkBoundedWaiting(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ waits: 3, judged: 1 });
  });

  it('is not judged at a lock that is delayed when a hold is lost', () => {
    const story = new Story();
    story.record({ type: 'phase', phase: 'healed' }, 'harness');
    story.ask({ f: 'status', lock: 'b', session: 1 }).ok({ holder: null, token: 0 });
    const asked = story.ask({ f: 'acquire', lock: 'a', session: 1, delayMs: 30_000 });
    const { hold } = story.enqueue('a', 1);
    story.pass(30_000);
    asked.ok({ token: story.grant('a', 1, hold, story.nextIndex()).token, hold });
    expectUnknown(checkBoundedWaiting(story.history));
  });

  it('is not judged before its session has shown that it is alive', () => {
    const story = new Story();
    story.record({ type: 'phase', phase: 'healed' }, 'harness');
    const asked = story.ask({ f: 'acquire', lock: 'a', session: 1 });
    story.pass(60_000);
    const { hold } = story.enqueue('a', 1);
    asked.ok({ token: story.grant('a', 1, hold).token, hold });
    expectValid(checkBoundedWaiting(story.history));
    expectUnknown(checkBoundedWaiting(new Story().history));
  });
});

describe('bounded waiting is broken by', () => {
  it('a grant that comes long after the last one before it has left', () => {
    const { story, held, asked, wait } = waiting();
    const { ok: left } = story.release(held);
    story.pass(10_001);
    const granted = story.grant('a', 2, wait.hold, story.nextIndex());
    const told = asked.ok({ token: granted.token, hold: wait.hold });
    const removed = story.history[left.seq - 2];
    if (removed === undefined) throw new TypeError('it was removed before that');
    const words = /session 2 waited for lock a .* nobody before it, and was answered only after 10001 ms/;
    expectBroken(checkBoundedWaiting(story.history), words, removed, asked.invoke, granted, told);
  });

  it('a grant of which its caller hears late', () => {
    const { story, held, asked, wait } = waiting();
    story.release(held);
    const { token } = story.grant('a', 2, wait.hold, story.nextIndex());
    story.pass(20_000);
    asked.ok({ token, hold: wait.hold });
    expect(checkBoundedWaiting(story.history).valid).toBe(false);
  });

  it('a wait that nobody ends, though nobody is before it', () => {
    const { story, held } = waiting();
    story.release(held);
    story.pass(10_001);
    story.quiet();
    expect(checkBoundedWaiting(story.history).broken[0]?.message).toMatch(/and was not answered after 10001 ms/);
  });

  it('a caller that gives up long after it should have been granted', () => {
    const { story, held, asked, wait } = waiting();
    story.release(held);
    story.pass(10_001);
    asked.fail('TIMEOUT');
    story.remove(wait, 'cancelled');
    expect(checkBoundedWaiting(story.history).valid).toBe(false);
  });
});

describe('a wait for several locks on the healed system', () => {
  it('may take as long as whoever is before it at any of them', () => {
    const { story, held } = waiting();
    story.pass(1);
    const other = story.acquire('c', 3);
    const asked = story.ask({ f: 'acquire', lock: 'd', session: 2, others: ['c'] });
    const hold = story.nextIndex();
    for (const lock of ['c', 'd']) story.enqueue(lock, 2, hold);
    story.release(held);
    story.pass(60_000);
    story.release(other);
    const index = story.nextIndex();
    for (const lock of ['c', 'd']) story.grant(lock, 2, hold, index);
    asked.ok({ token: index, hold });
    const { broken } = checkBoundedWaiting(story.history);
    expect(broken.filter(({ message }) => message.includes(`hold ${hold}`))).toEqual([]);
  });
});
