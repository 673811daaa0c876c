import { describe, it } from 'vitest';

import { checkCompletions } from '../../src/checkers/completions.ts';
import type { HistoryEventBody } from '../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../support/expect-verdict.ts';
import { Story } from '../support/story.ts';

const ACQUIRE = { f: 'acquire', lock: 'a', session: 1 } as const;

describe('completions', () => {
  it('are fine when every call gets one at most, and a failed acquire its cancel', () => {
    const story = new Story();
    story.release(story.acquire('a', 1));
    const failed = story.ask(ACQUIRE);
    failed.fail('TIMEOUT');
    story.record({ type: 'cancelled', call: failed.call });
    story.ask({ f: 'read', path: '/x', consistency: 'local' }).ok({ value: 'v', version: 3 });
    story.ask(ACQUIRE);
    expectValid(checkCompletions(story.history));
  });

  it('are nothing to judge where nobody called', () => {
    expectUnknown(checkCompletions([]));
  });

  it('are broken by a second one', () => {
    const story = new Story();
    const asked = story.ask(ACQUIRE);
    const first = asked.ok({ token: 3, hold: 3 });
    const second = asked.info();
    expectBroken(
      checkCompletions(story.history),
      /^call 1 was answered ok, and then info$/,
      asked.invoke,
      first,
      second,
    );
  });

  it('are broken by one without a call', () => {
    const story = new Story();
    const event = story.record({ type: 'ok', call: 9, f: 'fence', bucket: 'b', token: 1 });
    expectBroken(checkCompletions(story.history), /^call 9 was completed \(ok\) and never invoked$/, event);
  });

  it('are broken by a call that is invoked twice', () => {
    const story = new Story();
    const { call, invoke } = story.ask(ACQUIRE);
    const again = story.record({ type: 'invoke', call, ...ACQUIRE });
    expectBroken(checkCompletions(story.history), /^call 1 was invoked twice$/, invoke, again);
  });

  it.each([
    ['another operation', { f: 'release', lock: 'a', session: 1, token: 1, hold: 1 }, 'c1', 'f'],
    ['another lock', { ...ACQUIRE, lock: 'b', token: 1, hold: 1 }, 'c1', 'lock'],
    ['another process', { ...ACQUIRE, token: 1, hold: 1 }, 'c2', 'process'],
  ])('are broken by an answer for %s', (_, outcome, process, field) => {
    const story = new Story();
    const { call, invoke } = story.ask(ACQUIRE);
    const answer = story.record({ type: 'ok', call, ...outcome } as HistoryEventBody, process);
    expectBroken(checkCompletions(story.history), new RegExp(`answered with another "${field}"`), invoke, answer);
  });

  it('are broken by a cancel of an acquire that was granted', () => {
    const story = new Story();
    const asked = story.ask(ACQUIRE);
    const ok = asked.ok({ token: 3, hold: 3 });
    const cancelled = story.record({ type: 'cancelled', call: asked.call });
    expectBroken(
      checkCompletions(story.history),
      /cancelled before its caller was notified/,
      asked.invoke,
      ok,
      cancelled,
    );
  });

  it('are broken by a cancel that ends twice', () => {
    const story = new Story();
    const asked = story.ask(ACQUIRE);
    asked.fail('ABORTED');
    const first = story.record({ type: 'cancelled', call: asked.call });
    const second = story.record({ type: 'cancelled', call: asked.call });
    expectBroken(checkCompletions(story.history), /came to its end twice/, first, second);
  });

  it('are broken by a cancel of what is no acquire', () => {
    const story = new Story();
    const cancelled = story.record({ type: 'cancelled', call: 5 });
    expectBroken(checkCompletions(story.history), /is no acquire/, cancelled);
  });
});
