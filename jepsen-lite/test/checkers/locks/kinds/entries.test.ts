import { describe, expect, it } from 'vitest';

import { checkEntries } from '../../../../src/checkers/locks/kinds/entries.ts';
import { expectBroken, expectUnknown, expectValid } from '../../../support/expect-verdict.ts';
import { Story } from '../../../support/story.ts';

/** The owner 1.0 has entered the lock twice. */
function enteredTwice() {
  const story = new Story();
  const wait = story.enqueue('a', 1);
  const { token } = story.grant('a', 1, wait.hold);
  const hold = { token, hold: wait.hold };
  const entries = [story.enter('a', 1, '1.0', hold), story.enter('a', 1, '1.0', hold)] as const;
  return { story, hold, entries };
}

describe('entries of a lock', () => {
  it('are one hold, which is given back with the last of them', () => {
    const { story, hold, entries } = enteredTwice();
    story.leave(entries[0]);
    story.leave(entries[1], () => story.remove({ lock: 'a', session: 1, hold: hold.hold }, 'released'));
    const verdict = checkEntries(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ entered: 2, reentered: 1, left: 2, lost: 0 });
  });

  it('are all lost at once, and then given back by the SDK', () => {
    const { story, hold, entries } = enteredTwice();
    const named = { lock: 'a', session: 1, ...hold };
    story.leave(entries[0]);
    story.lose(named, 'expired');
    story.remove(named, 'released');
    story.ask({ f: 'leave', owner: '1.0', ...named }).fail('LOCK_LOST');
    const again = story.enqueue('a', 1);
    story.enter('a', 1, '1.0', { token: story.grant('a', 1, again.hold).token, hold: again.hold });
    const verdict = checkEntries(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ lost: 1 });
  });

  it('cannot be judged where there were none', () => {
    const story = new Story();
    story.acquire('a', 1);
    expectUnknown(checkEntries(story.history));
  });

  it('are broken by a release before the last of them was given back', () => {
    const { story, hold, entries } = enteredTwice();
    let removed: ReturnType<Story['remove']> | undefined;
    const leave = story.leave(entries[0], () => {
      removed = story.remove({ lock: 'a', session: 1, hold: hold.hold }, 'released');
    });
    if (removed === undefined) throw new TypeError('it was removed');
    expectBroken(
      checkEntries(story.history),
      /^lock a: hold 11 was released while 1\.0 had not given back each of its entries$/,
      entries[1].ok,
      leave.invoke,
      removed,
    );
  });

  it('are broken by another token for the same hold', () => {
    const { story, hold, entries } = enteredTwice();
    const other = story.enter('a', 1, '1.0', { token: hold.token + 1, hold: hold.hold });
    expectBroken(
      checkEntries(story.history),
      /is of 1\.0 under token 11, and of 1\.0 under token 12/,
      entries[0].ok,
      other.ok,
    );
  });

  it('are broken by another owner of the same hold', () => {
    const { story, hold, entries } = enteredTwice();
    const other = story.enter('a', 1, '1.1', hold);
    expectBroken(checkEntries(story.history), /is of 1\.0 under token 11, and of 1\.1/, entries[0].ok, other.ok);
  });

  it('are broken by one more of a hold that was lost', () => {
    const { story, hold } = enteredTwice();
    const lost = story.lose({ lock: 'a', session: 1, ...hold }, 'expired');
    const again = story.enter('a', 1, '1.0', hold);
    expectBroken(
      checkEntries(story.history),
      /entered once more after it was said to be lost/,
      lost,
      again.invoke,
      again.ok,
    );
  });

  it('are broken by a new hold while those of the lost one have not been given back', () => {
    const { story, hold, entries } = enteredTwice();
    story.lose({ lock: 'a', session: 1, ...hold }, 'expired');
    const wait = story.enqueue('a', 1);
    const again = story.enter('a', 1, '1.0', { token: story.grant('a', 1, wait.hold).token, hold: wait.hold });
    expectBroken(
      checkEntries(story.history),
      /1\.0 was granted hold 12 while it had not given back an entry of hold 11/,
      entries[0].ok,
      again.invoke,
      again.ok,
    );
  });
});
