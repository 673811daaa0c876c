import { describe, expect, it } from 'vitest';

import { checkWaits } from '../../../src/checkers/locks/waiting/waits.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

describe('waits', () => {
  it('end by a grant in turn, with the session, or since the caller has given up', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const asked = [2, 3, 4].map((session) => story.ask({ f: 'acquire', lock: 'a', session }));
    const [second, third, fourth] = [2, 3, 4].map((session) => story.enqueue('a', session));
    if (second === undefined || third === undefined || fourth === undefined) throw new TypeError('they wait');
    asked[1]?.fail('TIMEOUT');
    story.remove(third, 'cancelled');
    story.remove(fourth, 'expired');
    story.release(held);
    const granted = story.grant('a', 2, second.hold, story.nextIndex());
    asked[0]?.ok({ token: granted.token, hold: second.hold });
    const verdict = checkWaits(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ waits: 4, served: 1, withdrawn: 1, reported: 2 });
  });

  it('are not judged where no lock was granted', () => {
    expectUnknown(checkWaits(new Story().history));
  });
});

describe('waits are broken by', () => {
  it('one that is taken out of its queue though its caller waits on', () => {
    const story = new Story();
    story.acquire('a', 1);
    story.ask({ f: 'acquire', lock: 'a', session: 2 });
    const waits = story.enqueue('a', 2);
    const gone = story.remove(waits, 'cancelled');
    expectBroken(checkWaits(story.history), /session 2 waited .* though it had not given up/, waits, gone);
  });

  it('a cancel that takes another wait of the session with it', () => {
    const story = new Story();
    story.acquire('a', 1);
    const asked = [
      story.ask({ f: 'acquire', lock: 'a', session: 2 }),
      story.ask({ f: 'acquire', lock: 'a', session: 2 }),
    ];
    const [one, other] = [story.enqueue('a', 2), story.enqueue('a', 2)];
    asked[0]?.fail('TIMEOUT');
    story.remove(one, 'cancelled');
    const gone = story.remove(other, 'cancelled');
    expectBroken(checkWaits(story.history), /hold \d+\) and was taken out/, other, gone);
  });

  it('one who came later and was granted the lock first', () => {
    const story = new Story();
    const first = story.ask({ f: 'acquire', lock: 'a', session: 1 });
    const second = story.ask({ f: 'acquire', lock: 'a', session: 2 });
    const barged = second.ok({ token: 30, hold: 21 });
    const late = first.ok({ token: 40, hold: 20 });
    const words = /hold 21 was granted \(token 30\) before hold 20 \(token 40\), which was earlier in the queue/;
    expectBroken(checkWaits(story.history), words, late, barged);
  });
});
