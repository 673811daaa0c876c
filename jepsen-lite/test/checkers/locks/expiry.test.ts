import { describe, expect, it } from 'vitest';

import { checkExpiry } from '../../../src/checkers/locks/expiry.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

function connected(): Story {
  const story = new Story();
  story.pass(500);
  story.record({ type: 'session', event: 'connected', session: 1, timeoutMs: 1_000 });
  return story;
}

/** Sent now, acknowledged after so long. */
function renew(story: Story, afterMs: number, sentMs: number): ReturnType<Story['record']> {
  story.pass(afterMs);
  return story.record({ type: 'renewed', session: 1, sentMs });
}

describe('a session', () => {
  it('may expire a full timeout after its last renewal was sent, not after it was acknowledged', () => {
    const story = connected();
    renew(story, 900, 500);
    story.pass(100);
    story.end(1, 'expired');
    story.record({ type: 'session', event: 'expired', session: 1 });
    expectValid(checkExpiry(story.history));
  });

  it('may expire a little early where the clock of a server runs fast within the bound', () => {
    const story = connected();
    renew(story, 10, 500);
    story.pass(981);
    story.end(1, 'expired');
    expectValid(checkExpiry(story.history));
    expect(checkExpiry(story.history, { clockRateError: 0.001 }).valid).toBe(false);
  });

  it('may be closed or revoked at any time', () => {
    const story = connected();
    renew(story, 10, 500);
    story.end(1, 'revoked');
    expectUnknown(checkExpiry(story.history));
  });

  it('is broken when it expires early after a renewal', () => {
    const story = connected();
    const renewed = renew(story, 400, 600);
    story.pass(600);
    const ended = story.end(1, 'expired');
    expectBroken(
      checkExpiry(story.history),
      /^session 1 expired 900 ms after a renewal was sent that the servers have received; its timeout is 1000 ms$/,
      renewed,
      ended,
    );
  });

  it('is broken when it expires early after a write that was done', () => {
    const story = connected();
    story.pass(700);
    const asked = story.ask({ f: 'set', path: '/x', value: 'v', session: 1 });
    story.pass(50);
    const done = asked.ok();
    story.pass(200);
    const ended = story.end(1, 'expired');
    expectBroken(checkExpiry(story.history), /expired 250 ms after/, done, ended);
  });

  it('is not kept alive by a read, or by a write that failed', () => {
    const story = connected();
    renew(story, 10, 510);
    story.pass(900);
    story.ask({ f: 'read', path: '/x', consistency: 'linearizable', session: 1 }).ok({ value: null });
    story.ask({ f: 'create', path: '/x', value: 'v', session: 1 }).info();
    story.pass(100);
    story.end(1, 'expired');
    expectValid(checkExpiry(story.history));
  });

  it('is broken when it is said to have expired and has not', () => {
    const story = connected();
    story.end(2, 'expired');
    const reported = story.record({ type: 'session', event: 'expired', session: 1 });
    story.end(1, 'expired');
    expectBroken(
      checkExpiry(story.history),
      /^session 1 was said to have expired, and no server had ended it$/,
      reported,
    );
  });
});
