import { describe, it } from 'vitest';

import { checkGhosts } from '../../src/checkers/ghosts.ts';
import { expectBroken, expectUnknown, expectValid } from '../support/expect-verdict.ts';
import { Story } from '../support/story.ts';

const ACQUIRE = { f: 'acquire', lock: 'a', session: 1 } as const;

describe('an acquire that failed', () => {
  it('may still wait, or even hold, until its cancel has come to its end', () => {
    const story = new Story();
    const other = story.acquire('a', 2);
    const asked = story.ask(ACQUIRE);
    const wait = story.enqueue('a', 1);
    asked.fail('TIMEOUT');
    const index = story.nextIndex();
    story.remove(other, 'released', index);
    story.grant('a', 1, wait.hold, index);
    story.remove(wait, 'cancelled');
    story.tell({ type: 'cancelled', call: asked.call });
    story.quiet();
    expectValid(checkGhosts(story.history));
  });

  it('does not mind what other acquires of its session have', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const open = story.ask(ACQUIRE);
    story.enqueue('a', 1);
    const failed = story.ask(ACQUIRE);
    failed.fail('ABORTED');
    story.tell({ type: 'cancelled', call: failed.call });
    story.believe(held);
    open.info();
    expectValid(checkGhosts(story.history));
  });

  it('cannot be judged where none failed, or without the log', () => {
    const story = new Story();
    story.acquire('a', 1);
    story.quiet();
    expectUnknown(checkGhosts(story.history));
    const unlogged = new Story();
    const failed = unlogged.ask(ACQUIRE);
    failed.fail('TIMEOUT');
    unlogged.tell({ type: 'cancelled', call: failed.call });
    expectUnknown(checkGhosts(unlogged.history));
  });

  it('is a ghost when it still waits after its cancel', () => {
    const story = new Story();
    story.acquire('a', 2);
    const asked = story.ask(ACQUIRE);
    const wait = story.enqueue('a', 1);
    const failed = asked.fail('TIMEOUT');
    const cancelled = story.tell({ type: 'cancelled', call: asked.call });
    expectBroken(
      checkGhosts(story.history),
      /^session 1 waits for lock a \(hold 12\) by an acquire that has failed and was to be cancelled$/,
      wait,
      failed,
      cancelled,
    );
  });

  it('is a ghost when it holds the lock once all is quiet', () => {
    const story = new Story();
    const asked = story.ask(ACQUIRE);
    const failed = asked.fail('TIMEOUT');
    const wait = story.enqueue('a', 1);
    const granted = story.grant('a', 1, wait.hold);
    const quiet = story.quiet();
    expectBroken(checkGhosts(story.history), /^session 1 holds lock a/, granted, failed, quiet);
  });
});
