import { describe, it } from 'vitest';

import { checkGhosts } from '../../../src/checkers/locks/ghosts.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

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
    story.record({ type: 'cancelled', call: asked.call });
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
    story.record({ type: 'cancelled', call: failed.call });
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
    unlogged.record({ type: 'cancelled', call: failed.call });
    expectUnknown(checkGhosts(unlogged.history));
  });

  it('is a ghost when it still waits after its cancel', () => {
    const story = new Story();
    story.acquire('a', 2);
    const asked = story.ask(ACQUIRE);
    const wait = story.enqueue('a', 1);
    const failed = asked.fail('TIMEOUT');
    const cancelled = story.record({ type: 'cancelled', call: asked.call });
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

  describe('whose cancel was not recorded', () => {
    const SET = { f: 'set', path: '/x', value: 'v', session: 1 } as const;

    function waiting(story: Story): { readonly wait: ReturnType<Story['enqueue']>; readonly failed: HistoryEvent } {
      story.acquire('a', 2);
      const asked = story.ask(ACQUIRE);
      const wait = story.enqueue('a', 1);
      return { wait, failed: asked.fail('TIMEOUT') };
    }

    it('may still wait until its session has done three writes, one after the other', () => {
      const story = new Story();
      const early = story.ask(SET);
      const { wait } = waiting(story);
      early.ok();
      story.ask(SET).ok();
      story.ask(SET).ok();
      story.ask({ ...SET, session: 2 }).ok();
      const overlapping = story.ask(SET);
      story.ask({ f: 'read', path: '/x', consistency: 'linearizable', session: 1 }).ok({ value: 'v' });
      story.ask(SET).fail('NOT_FOUND');
      story.remove(wait, 'cancelled');
      overlapping.ok();
      expectValid(checkGhosts(story.history));
    });

    it('is a ghost when it waits after that', () => {
      const story = new Story();
      const { wait, failed } = waiting(story);
      story.ask(SET).ok();
      story.ask(SET).ok();
      const third = story.ask(SET).ok();
      expectBroken(checkGhosts(story.history), /^session 1 waits for lock a/, wait, failed, third);
    });
  });
});
