import { describe, expect, it } from 'vitest';

import { checkSeveral } from '../../../../src/checkers/locks/kinds/several.ts';
import { expectBroken, expectUnknown, expectValid } from '../../../support/expect-verdict.ts';
import { Story, type Asked } from '../../../support/story.ts';

function ask(story: Story, locks: readonly string[]): readonly Asked[] {
  return locks.map((lock) =>
    story.ask({ f: 'acquire', lock, session: 1, others: locks.filter((other) => other !== lock) }),
  );
}

/** Session 1 waits for both locks, and holds both by the entry behind. */
function taken(): { story: Story; calls: readonly Asked[]; hold: number; token: number } {
  const story = new Story();
  const calls = ask(story, ['a', 'b']);
  const hold = story.nextIndex();
  for (const lock of ['a', 'b']) story.enqueue(lock, 1, hold);
  const token = story.nextIndex();
  for (const lock of ['a', 'b']) story.grant(lock, 1, hold, token);
  return { story, calls, hold, token };
}

describe('an acquire of several locks', () => {
  it('has all of them, from one entry to another one', () => {
    const { story, calls, hold, token } = taken();
    for (const call of calls) call.ok({ token, hold });
    const index = story.nextIndex();
    for (const lock of ['a', 'b']) story.remove({ lock, session: 1, hold }, 'released', index);
    const verdict = checkSeveral(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ asked: 2, taken: 1, waited: 1 });
  });

  it('may have none of them, when it was given up', () => {
    const { story, calls, hold, token } = taken();
    for (const call of calls) call.ok({ token, hold });
    const given = ask(story, ['a', 'b']);
    const wait = story.nextIndex();
    for (const lock of ['a', 'b']) story.enqueue(lock, 2, wait);
    for (const call of given) call.fail('TIMEOUT');
    const index = story.nextIndex();
    for (const lock of ['a', 'b']) story.remove({ lock, session: 2, hold: wait }, 'cancelled', index);
    expectValid(checkSeveral(story.history));
  });

  it('cannot be judged where nobody asked for several, or without the log', () => {
    const story = new Story();
    story.acquire('a', 1);
    expectUnknown(checkSeveral(story.history));
    const unlogged = new Story();
    for (const call of ask(unlogged, ['a', 'b'])) call.ok({ token: 12, hold: 11 });
    expectUnknown(checkSeveral(unlogged.history));
  });

  it('is broken by a grant of one of them alone', () => {
    const story = new Story();
    ask(story, ['a', 'b']);
    const hold = story.nextIndex();
    for (const lock of ['a', 'b']) story.enqueue(lock, 1, hold);
    const granted = story.grant('a', 1, hold);
    expectBroken(
      checkSeveral(story.history),
      /^hold 11 of several locks was granted lock a by entry 11, and never lock b$/,
      granted,
    );
  });

  it('is broken by two entries that grant it', () => {
    const story = new Story();
    ask(story, ['a', 'b']);
    const hold = story.nextIndex();
    for (const lock of ['a', 'b']) story.enqueue(lock, 1, hold);
    const first = story.grant('a', 1, hold, story.nextIndex());
    const second = story.grant('b', 1, hold, story.nextIndex());
    expectBroken(checkSeveral(story.history), /was granted lock a by entry 12, and lock b by entry 13/, first, second);
  });

  it('is broken by a release of one of them', () => {
    const { story, calls, hold, token } = taken();
    for (const call of calls) call.ok({ token, hold });
    const removed = story.remove({ lock: 'a', session: 1, hold }, 'released');
    expectBroken(checkSeveral(story.history), /left the queue of lock a by entry 13, and never lock b/, removed);
  });

  it('is broken when its caller is told of a lock that was not granted with the others', () => {
    const story = new Story();
    const calls = ask(story, ['a', 'b']);
    const hold = story.nextIndex();
    story.enqueue('a', 1, hold);
    const granted = story.grant('a', 1, hold);
    const [first, second] = calls.map((call) => call.ok({ token: hold, hold }));
    const { broken } = checkSeveral(story.history);
    expect(broken.map(({ message }) => message)).toEqual(
      Array<unknown>(2).fill(expect.stringMatching(/has a,b \(hold 11\), and lock b was not granted to it/)),
    );
    expect(broken.map(({ events }) => events)).toEqual([
      [granted.seq, first?.seq],
      [granted.seq, second?.seq],
    ]);
  });
});
