import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { checkExclusion } from '../../../src/checkers/locks/exclusion.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type ReportedHold } from '../../support/story.ts';

/** Nothing is recorded of the servers: only what applications saw. */
function reportedHold(story: Story, session: number, token: number): ReportedHold {
  const { invoke, ok } = story.ask({ f: 'acquire', lock: 'a', session });
  const hold = token;
  const event = ok({ token, hold });
  return { lock: 'a', session, token, hold, invoke, ok: event, enqueued: invoke, granted: invoke };
}

describe('holders', () => {
  it('exclude one another as long as they ask whether they still hold', () => {
    const story = new Story();
    const first = reportedHold(story, 1, 10);
    story.believe(first);
    const second = reportedHold(story, 2, 20);
    story.believe(second);
    expectValid(checkExclusion(story.history));
  });

  it('may overlap where they do not ask, which is counted', () => {
    const story = new Story();
    const first = reportedHold(story, 1, 10);
    story.believe(first);
    reportedHold(story, 2, 20);
    reportedHold(story, 3, 30);
    story.lose(first, 'expired');
    expect(checkExclusion(story.history)).toMatchObject({
      valid: true,
      counts: { beliefOverlaps: 2, holds: 3, beliefs: 1 },
    });
  });

  it('do not overlap once they have given back, were notified, or lost their session', () => {
    const story = new Story();
    const first = reportedHold(story, 1, 10);
    story.ask({ f: 'release', lock: 'a', session: 1, token: 10, hold: first.hold }).info();
    const second = reportedHold(story, 2, 20);
    story.lose(second, 'expired');
    reportedHold(story, 3, 30);
    story.record({ type: 'session', event: 'expired', session: 3 }, 'c3');
    reportedHold(story, 4, 40);
    expect(checkExclusion(story.history).counts['beliefOverlaps']).toBe(0);
  });

  it('may overlap when an operator took the lock from the first', () => {
    const story = new Story();
    const first = reportedHold(story, 1, 10);
    const second = reportedHold(story, 2, 20);
    story.believe(first);
    story.believe(second);
    story.lose(first, 'revoked');
    expectValid(checkExclusion(story.history));
  });

  it('cannot be judged where there were none', () => {
    expectUnknown(checkExclusion(new Story().history));
  });

  it('are broken by one who believes before and after another was notified', () => {
    const story = new Story();
    const first = reportedHold(story, 1, 10);
    const second = reportedHold(story, 2, 20);
    const believed = story.believe(first);
    expectBroken(
      checkExclusion(story.history),
      /^lock a: session 1 had it \(token 10\) before and after session 2 was notified that it has it \(token 20\)$/,
      first.ok,
      second.ok,
      believed,
    );
  });

  it('are broken by the long belief of one, whatever shorter ones were between', () => {
    const story = new Story();
    const first = reportedHold(story, 1, 10);
    story.record({ type: 'believe', lock: 'b', session: 1, token: 10, hold: 10 });
    const second = reportedHold(story, 2, 20);
    const third = reportedHold(story, 3, 30);
    const believed = story.believe(first);
    const { broken, valid } = checkExclusion(story.history);
    expect(valid).toBe(false);
    expect(broken.map(({ events }) => events)).toEqual([
      [first.ok.seq, second.ok.seq, believed.seq],
      [first.ok.seq, third.ok.seq, believed.seq],
    ]);
  });
});

describe('holders of a lock that several may hold', () => {
  const READ: LockRequest = { type: 'readWrite', write: false };
  const WRITE: LockRequest = { type: 'readWrite', write: true };

  it('may believe in it at one time, who wrote and reads on among them', () => {
    const story = new Story();
    const writer = story.acquire('a', 1, WRITE);
    story.downgrade(writer);
    const reader = story.acquire('a', 2, READ);
    story.believe(writer);
    story.believe(reader);
    expect(checkExclusion(story.history)).toMatchObject({ valid: true, counts: { beliefOverlaps: 0 } });
  });

  it('are broken by one who writes while another one reads', () => {
    const story = new Story();
    const reader = story.acquire('a', 1, READ);
    const writer = story.acquire('a', 2, WRITE);
    const believed = story.believe(reader);
    expectBroken(checkExclusion(story.history), /session 1 had it/, reader.ok, writer.ok, believed);
  });
});
