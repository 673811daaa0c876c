import { describe, expect, it } from 'vitest';

import { checkDelays } from '../../../src/checkers/locks/waiting/delays.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const LOCK = 'a-delayed';
const DELAY_MS = 4_000;
const TIMEOUT_MS = 2_000;

interface Wait {
  readonly lock: string;
  readonly session: number;
  readonly asked: Asked;
  readonly enqueued: HistoryEvent;
  readonly hold: number;
}

interface Held {
  readonly lock: string;
  readonly session: number;
  readonly hold: number;
  readonly token: number;
  readonly granted: HistoryEvent;
  readonly ok: HistoryEvent;
}

/** What applications are told of an entry comes so much later: in a live run the log has no other time for it. */
class Told extends Story {
  readonly #answerMs: number;

  constructor(answerMs = 1) {
    super();
    this.#answerMs = answerMs;
  }

  /** Enters the queue. */
  wait(session: number): Wait {
    const asked = this.ask({ f: 'acquire', lock: LOCK, session, delayMs: DELAY_MS });
    const enqueued = this.enqueue(LOCK, session);
    return { lock: LOCK, session, asked, enqueued, hold: enqueued.hold };
  }

  have({ session, asked, hold }: Wait, index = this.nextIndex()): Held {
    const granted = this.grant(LOCK, session, hold, index);
    this.pass(this.#answerMs);
    const { token } = granted;
    return { lock: LOCK, session, hold, token, granted, ok: asked.ok({ token, hold }) };
  }

  /** Asked for and granted at once. */
  take(session: number): Held {
    const wait = this.wait(session);
    return this.have(wait, wait.hold);
  }
}

describe('a lock that is delayed when a hold is lost', () => {
  it('is granted when the delay is over, and at once when it is given back', () => {
    const story = new Told();
    const [held, waits, behind] = [story.take(1), story.wait(2), story.wait(3)];
    story.remove(held, 'expired');
    story.pass(DELAY_MS);
    const next = story.have(waits);
    const { index } = story.remove(next, 'released');
    story.have(behind, index);
    const verdict = checkDelays(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ lost: 1, judged: 1, released: 1 });
  });

  it('may be granted as much earlier as a clock may run too fast', () => {
    const told = (earlierMs: number): Story => {
      const story = new Told();
      const [held, waits] = [story.take(1), story.wait(2)];
      story.remove(held, 'revoked');
      story.pass(DELAY_MS / 1.25 - earlierMs);
      story.have(waits);
      return story;
    };
    expectValid(checkDelays(told(0).history, { clockRateError: 0.25 }));
    expect(checkDelays(told(1).history, { clockRateError: 0.25 }).valid).toBe(false);
  });

  it('is not delayed by who closes its session, nor by a wait that ends with its session', () => {
    const story = new Told();
    const [held, waits, behind] = [story.take(1), story.wait(2), story.wait(3)];
    story.remove(waits, 'expired');
    const { index } = story.remove(held, 'closed');
    story.have(behind, index);
    const verdict = checkDelays(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ lost: 0, released: 1 });
  });

  it('is not judged where an acquire of it asks for no delay, or nobody waits', () => {
    const story = new Story();
    story.acquire('a', 1);
    story.enqueue('a', 2);
    expectUnknown(checkDelays(story.history));
    const alone = new Told();
    alone.remove(alone.take(1), 'expired');
    expectUnknown(checkDelays(alone.history));
    const mixed = new Told();
    const [held, waits] = [mixed.take(1), mixed.wait(2)];
    mixed.ask({ f: 'acquire', lock: LOCK, session: 3 }).fail('TIMEOUT');
    mixed.remove(held, 'expired');
    mixed.have(waits);
    expectUnknown(checkDelays(mixed.history));
  });
});

describe('delays are broken by', () => {
  it.each(['expired', 'revoked'] as const)('a grant too early after a hold that was %s', (reason) => {
    const story = new Told();
    const [held, waits] = [story.take(1), story.wait(2)];
    const lost = story.remove(held, reason);
    story.pass(DELAY_MS / 2);
    const { granted } = story.have(waits);
    const words = new RegExp(`^lock a-delayed was granted .* 2000 ms after hold 11 was lost \\(${reason}\\)`);
    expectBroken(checkDelays(story.history), words, lost, granted);
  });

  it('a lock that is free, for which somebody waits', () => {
    const story = new Told();
    const [held, waits] = [story.take(1), story.wait(2)];
    const gone = story.remove(held, 'released');
    story.pass(DELAY_MS);
    story.wait(3);
    const words = /^behind entry 13 hold 12 waits for lock a-delayed, which nobody holds and nobody has lost/;
    expectBroken(checkDelays(story.history), words, waits.enqueued, gone);
  });
});

describe('the log of a live run, which has the times of answers alone,', () => {
  const live = (afterMs: number) => {
    const story = new Told(0);
    const held = story.take(1);
    story.pass(500);
    const waits = story.wait(2);
    const believed = story.believe(held);
    story.pass(afterMs);
    return { story, held, waits, believed };
  };

  it('shows a grant too early after its holder has believed', () => {
    const { story, held, waits, believed } = live(3_000);
    const lost = story.remove(held, 'expired');
    const { granted } = story.have(waits);
    const words = /granted to hold 12 .* 3000 ms after hold 11 was believed in for the last time, and lost later/;
    expectBroken(checkDelays(story.history), words, believed, lost, granted);
  });

  it('shows the loss as late as the grant, which is not taken for its time', () => {
    const { story, held, waits } = live(DELAY_MS);
    story.remove(held, 'expired');
    story.have(waits);
    const verdict = checkDelays(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ lost: 1, judged: 1 });
  });

  it('does not show when an operator took a hold, whose owner believes until he hears of it', () => {
    const { story, held, waits } = live(0);
    story.remove(held, 'revoked');
    story.have(waits);
    const verdict = checkDelays(story.history);
    expectUnknown(verdict);
    expect(verdict.counts).toMatchObject({ lost: 1, judged: 0 });
  });
});

describe('what clients saw of a delay, without any log,', () => {
  /** Session 1 believes, and its client hears of its end `heardMs` later; then session 2 has the lock. */
  const clients = (
    heardMs: number,
    { grantedMs, by }: { readonly grantedMs: number; readonly by: 'call' | 'session' },
  ) => {
    const story = new Story();
    story.record({ type: 'session', event: 'connected', session: 1, timeoutMs: TIMEOUT_MS });
    const ask = (session: number): Asked => story.ask({ f: 'acquire', lock: LOCK, session, delayMs: DELAY_MS });
    const [first, second] = [ask(1), ask(2)];
    first.ok({ token: 11, hold: 11 });
    const believed = story.believe({ lock: LOCK, session: 1, token: 11, hold: 11 });
    const other = story.ask({ f: 'acquire', lock: 'b', session: 1 });
    story.pass(heardMs);
    const heard =
      by === 'call' ? other.fail('SESSION_EXPIRED') : story.record({ type: 'session', event: 'expired', session: 1 });
    story.pass(grantedMs - heardMs);
    const ok = second.ok({ token: 15, hold: 12 });
    return { history: story.history, shown: [believed, heard, ok] };
  };

  it.each(['call', 'session'] as const)('shows a grant too early, where a %s has told of the end in time', (by) => {
    const { history, shown } = clients(1_900, { grantedMs: 2_100, by });
    expectBroken(checkDelays(history), /^session 2 had lock a-delayed \(token 15\) 2100 ms after session 1/, ...shown);
    const kept = checkDelays(clients(1_900, { grantedMs: DELAY_MS, by }).history);
    expectValid(kept);
    expect(kept.counts).toMatchObject({ lost: 1, judged: 1 });
  });

  it('shows nothing where the client has heard of the end so late that it may have given the lock back before', () => {
    const verdict = checkDelays(clients(TIMEOUT_MS, { grantedMs: 2_100, by: 'session' }).history);
    expectUnknown(verdict);
    expect(verdict.counts).toMatchObject({ lost: 0, judged: 0 });
  });
});
