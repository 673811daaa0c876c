import { describe, it } from 'vitest';

import { checkTokens } from '../../../src/checkers/locks/tokens.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

const ACQUIRE = { f: 'acquire', lock: 'a', session: 1 } as const;

describe('tokens', () => {
  it('rise on each lock, and may be the same on two that one entry granted', () => {
    const story = new Story();
    story.release(story.acquire('a', 1));
    story.release(story.acquire('a', 2));
    story.grant('b', 3, 8, 90);
    story.grant('c', 3, 9, 90);
    expectValid(checkTokens(story.history));
  });

  it('of acquires that overlap may come in any order', () => {
    const story = new Story();
    const first = story.ask(ACQUIRE);
    const second = story.ask({ ...ACQUIRE, session: 2 });
    second.ok({ token: 20, hold: 20 });
    first.ok({ token: 10, hold: 10 });
    expectValid(checkTokens(story.history));
  });

  it('cannot be judged where none was granted', () => {
    const story = new Story();
    story.ask(ACQUIRE).fail('TIMEOUT');
    expectUnknown(checkTokens(story.history));
  });

  it('are broken by two acquires with the same', () => {
    const story = new Story();
    const one = story.ask(ACQUIRE);
    const other = story.ask({ ...ACQUIRE, session: 2 });
    const oks = [one.ok({ token: 5, hold: 5 }), other.ok({ token: 5, hold: 4 })];
    expectBroken(checkTokens(story.history), /^lock a: two acquires were notified of token 5$/, ...oks);
  });

  it('are broken by a lower one for who asked later', () => {
    const story = new Story();
    const first = story.ask(ACQUIRE).ok({ token: 20, hold: 20 });
    const later = story.ask({ ...ACQUIRE, session: 2 });
    const second = later.ok({ token: 10, hold: 10 });
    expectBroken(
      checkTokens(story.history),
      /^lock a: token 10 went to an acquire that began after token 20 was reported$/,
      first,
      later.invoke,
      second,
    );
  });

  it('are broken by one that falls in the log', () => {
    const story = new Story();
    const first = story.record({ type: 'granted', index: 20, lock: 'a', session: 1, hold: 20, token: 20 });
    const second = story.record({ type: 'granted', index: 21, lock: 'a', session: 2, hold: 21, token: 20 });
    const { broken } = checkTokens(story.history);
    expectBroken(
      { ...checkTokens(story.history), broken: broken.slice(1) },
      /token 20 was granted after 20/,
      first,
      second,
    );
    expectBroken({ ...checkTokens(story.history), broken: broken.slice(0, 1) }, /granted by entry 21/, second);
  });

  it('are broken by one that is not the index of its entry', () => {
    const story = new Story();
    const grant = story.record({ type: 'granted', index: 21, lock: 'a', session: 2, hold: 21, token: 4 });
    expectBroken(checkTokens(story.history), /^lock a: token 4 was granted by entry 21$/, grant);
  });
});
