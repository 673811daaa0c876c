import { describe, it } from 'vitest';

import { checkGrants } from '../../../src/checkers/locks/grants.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

const ACQUIRE = { f: 'acquire', lock: 'a', session: 1 } as const;

describe('what is reported to acquires', () => {
  it('is what the servers did', () => {
    const story = new Story();
    story.acquire('a', 1);
    story.acquire('b', 2);
    expectValid(checkGrants(story.history));
  });

  it('cannot be judged without the log, or when nothing was reported to anybody', () => {
    const unlogged = new Story();
    unlogged.ask(ACQUIRE).ok({ token: 3, hold: 3 });
    expectUnknown(checkGrants(unlogged.history));
    const unreported = new Story();
    unreported.grant('a', 1, 3);
    expectUnknown(checkGrants(unreported.history));
  });

  it('is broken by a hold that nobody granted', () => {
    const story = new Story();
    story.acquire('b', 2);
    const ok = story.ask(ACQUIRE).ok({ token: 3, hold: 3 });
    expectBroken(checkGrants(story.history), /was notified that it has a \(hold 3\), which was never granted/, ok);
  });

  it('is broken by an answer before the grant', () => {
    const story = new Story();
    const ok = story.ask(ACQUIRE).ok({ token: 3, hold: 3 });
    const grant = story.grant('a', 1, 3);
    expectBroken(checkGrants(story.history), /before any server had granted it/, ok, grant);
  });

  it('is broken by the grant of another session, and by another token', () => {
    const foreign = new Story();
    const toOther = foreign.grant('a', 2, 3);
    const reported = foreign.ask(ACQUIRE).ok({ token: 3, hold: 3 });
    expectBroken(checkGrants(foreign.history), /notified of a hold of a that session 2 has/, toOther, reported);
    const altered = new Story();
    const grant = altered.grant('a', 1, 3, 8);
    const ok = altered.ask(ACQUIRE).ok({ token: 7, hold: 3 });
    expectBroken(checkGrants(altered.history), /notified of token 7 of a, granted was 8/, grant, ok);
  });
});
