import { describe, it } from 'vitest';

import { checkReleases } from '../../../src/checkers/locks/releases.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

describe('releases', () => {
  it('are done once, by the holder, at the servers', () => {
    const story = new Story();
    story.release(story.acquire('a', 1));
    const lost = story.acquire('a', 2);
    story.remove(lost, 'revoked');
    story.ask({ f: 'release', lock: 'a', session: 2, token: lost.token, hold: lost.hold }).fail('LOCK_LOST');
    expectValid(checkReleases(story.history));
  });

  it('are judged by applications alone where the log was not recorded', () => {
    const story = new Story();
    story.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token: 5, hold: 5 });
    story.ask({ f: 'release', lock: 'a', session: 1, token: 5, hold: 5 }).ok();
    expectValid(checkReleases(story.history));
  });

  it('cannot be judged where none was done', () => {
    const story = new Story();
    story.acquire('a', 1);
    expectUnknown(checkReleases(story.history));
  });

  it('are broken by a second one', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const { ok } = story.release(held);
    const again = story.ask({ f: 'release', lock: 'a', session: 1, token: held.token, hold: held.hold }).ok();
    expectBroken(checkReleases(story.history), /was done twice/, ok, again);
  });

  it('are broken by who is not the holder', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const asked = story.ask({ f: 'release', lock: 'a', session: 2, token: held.token, hold: held.hold });
    story.remove(held, 'released');
    const ok = asked.ok();
    expectBroken(
      checkReleases(story.history),
      /by session 2 was done, which was not reported to it/,
      held.ok,
      asked.invoke,
      ok,
    );
  });

  it('are broken by an answer before the servers have done it', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const ok = story.ask({ f: 'release', lock: 'a', session: 1, token: held.token, hold: held.hold }).ok();
    const removed = story.remove(held, 'released');
    expectBroken(checkReleases(story.history), /answered before any server had done it/, held.ok, ok, removed);
  });

  it('are broken by success for a hold that had gone otherwise', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const removed = story.remove(held, 'expired');
    const ok = story.ask({ f: 'release', lock: 'a', session: 1, token: held.token, hold: held.hold }).ok();
    expectBroken(checkReleases(story.history), /answered with success, but it had been expired/, removed, ok);
  });
});
