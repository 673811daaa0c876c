import { describe, expect, it } from 'vitest';

import { checkOrder } from '../../../src/checkers/locks/waiting/order.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

describe('a queue', () => {
  it('is served in order, without those who left it', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    const gaveUp = story.enqueue('a', 2);
    const third = story.enqueue('a', 3);
    const fourth = story.enqueue('a', 4);
    story.remove(gaveUp, 'cancelled');
    const index = story.nextIndex();
    story.remove(first, 'released', index);
    story.grant('a', 3, third.hold, index);
    const verdict = checkOrder(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ grants: 2, grantsWithWaiters: 1 });
    expect(fourth.hold).toBeGreaterThan(third.hold);
  });

  it('cannot be judged where nobody was granted anything', () => {
    const story = new Story();
    story.enqueue('a', 1);
    expectUnknown(checkOrder(story.history));
  });

  it('is broken when somebody is passed over', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    const second = story.enqueue('a', 2);
    const third = story.enqueue('a', 3);
    const index = story.nextIndex();
    story.remove(first, 'released', index);
    const grant = story.grant('a', 3, third.hold, index);
    expectBroken(checkOrder(story.history), /granted to hold 13, but hold 12 was first in its queue/, second, grant);
  });

  it('is broken when grants go back in it, also where the queue was not recorded', () => {
    const story = new Story();
    const first = story.grant('a', 1, 20, 30);
    const second = story.grant('a', 2, 19, 31);
    expectBroken(checkOrder(story.history), /granted to hold 19 after hold 20, which came later/, first, second);
  });

  it('is broken when who was notified first is behind who asked after that', () => {
    const story = new Story();
    const first = story.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token: 20, hold: 20 });
    const later = story.ask({ f: 'acquire', lock: 'a', session: 2 });
    const second = later.ok({ token: 30, hold: 19 });
    expectBroken(
      checkOrder(story.history),
      /hold 19 was asked for after hold 20 was reported/,
      first,
      later.invoke,
      second,
    );
  });
});
