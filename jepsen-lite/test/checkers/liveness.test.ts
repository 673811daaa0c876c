import { describe, it } from 'vitest';

import { checkLiveness } from '../../src/checkers/liveness.ts';
import { expectBroken, expectUnknown, expectValid } from '../support/expect-verdict.ts';
import { Story } from '../support/story.ts';

describe('once all is quiet', () => {
  it('every call was answered and nobody waits', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const wait = story.enqueue('a', 2);
    story.quiet();
    story.remove(wait, 'cancelled');
    story.release(held);
    expectValid(checkLiveness(story.history));
  });

  it('is when it can be judged, not before', () => {
    const story = new Story();
    story.ask({ f: 'fence', bucket: 'b', token: 1 });
    expectUnknown(checkLiveness(story.history));
  });

  it('is broken by a call that was never answered', () => {
    const story = new Story();
    const { invoke } = story.ask({ f: 'fence', bucket: 'b', token: 1 });
    const quiet = story.quiet();
    expectBroken(checkLiveness(story.history), /^call 1 \(fence\) of c1 was never answered$/, invoke, quiet);
  });

  it('is broken by a session that still waits, also one that has ended', () => {
    const story = new Story();
    story.acquire('a', 1);
    const wait = story.enqueue('a', 2);
    story.quiet();
    const ended = story.end(2, 'expired');
    expectBroken(checkLiveness(story.history), /^session 2 still waits for lock a \(hold 12\)$/, wait, ended);
  });
});
