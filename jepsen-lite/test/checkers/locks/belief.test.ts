import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { checkBelief } from '../../../src/checkers/locks/belief.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

describe('belief in a lock', () => {
  it('ends before another is granted it', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    story.believe(first);
    const index = story.nextIndex();
    story.remove(first, 'expired', index);
    story.end(1, 'expired', index);
    story.lose(first, 'expired');
    story.believe(story.acquire('a', 2));
    expectValid(checkBelief(story.history));
  });

  it('may last beyond a revocation, until the message arrives', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    story.remove(first, 'revoked');
    story.acquire('a', 2);
    story.believe(first);
    story.lose(first, 'revoked');
    expectValid(checkBelief(story.history));
  });

  it('cannot be judged when nobody asked, or without the log', () => {
    const unasked = new Story();
    unasked.acquire('a', 1);
    expectUnknown(checkBelief(unasked.history));
    const unlogged = new Story();
    unlogged.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token: 5, hold: 5 });
    unlogged.believe({ lock: 'a', session: 1, token: 5, hold: 5 });
    expectUnknown(checkBelief(unlogged.history));
  });

  it('is broken when it outlasts an expiry and the next grant, even one of which nobody was notified', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    const removed = story.remove(first, 'expired');
    const next = story.enqueue('a', 2);
    const granted = story.grant('a', 2, next.hold);
    const believed = story.believe(first);
    expectBroken(
      checkBelief(story.history),
      /^session 1 believes in lock a \(token 11\) after token 13 was granted to session 2$/,
      removed,
      granted,
      believed,
    );
  });

  it('is broken when the lock was granted to another though it had never left the first', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    const second = story.acquire('a', 2);
    const believed = story.believe(first);
    expectBroken(checkBelief(story.history), /after token 12 was granted to session 2/, second.granted, believed);
  });

  it('after an expiry that nobody has profited from is counted', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    story.remove(first, 'expired');
    story.believe(first);
    expect(checkBelief(story.history)).toMatchObject({ valid: true, counts: { afterExpiry: 1 } });
  });

  it('is broken after the lock was given back', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const { invoke } = story.release(held);
    const believed = story.believe(held);
    expectBroken(checkBelief(story.history), /after it has given it back/, invoke, believed);
  });

  it('is broken after it was said to be lost', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const lost = story.lose(held, 'expired');
    const believed = story.believe(held);
    expectBroken(checkBelief(story.history), /after it was said to be lost/, lost, believed);
  });

  it('is broken where it has no ground', () => {
    const story = new Story();
    story.acquire('b', 2);
    const believed = story.believe({ lock: 'a', session: 1, token: 5, hold: 5 });
    expectBroken(checkBelief(story.history), /which was not reported to it/, believed);
  });
});

describe('belief in a lock that several may hold', () => {
  const READ: LockRequest = { type: 'readWrite', write: false };
  const WRITE: LockRequest = { type: 'readWrite', write: true };
  const permits = (count: number): LockRequest => ({ type: 'semaphore', permits: count, limit: 3 });

  it('may last while others are granted it as well', () => {
    const story = new Story();
    const first = story.acquire('a', 1, READ);
    story.acquire('a', 2, READ);
    story.believe(first);
    const writer = story.acquire('b', 1, WRITE);
    story.downgrade(writer);
    story.acquire('b', 2, READ);
    story.believe(writer);
    const holder = story.acquire('c', 1, permits(2));
    story.acquire('c', 2, permits(1));
    story.believe(holder);
    expectValid(checkBelief(story.history));
  });

  it('is broken when it outlasts an expiry and a grant that leaves it no place', () => {
    const reading = new Story();
    const reader = reading.acquire('a', 1, READ);
    reading.remove(reader, 'expired');
    reading.acquire('a', 2, READ);
    reading.believe(reader);
    expectValid(checkBelief(reading.history));
    const writing = new Story();
    const before = writing.acquire('a', 1, READ);
    const removed = writing.remove(before, 'expired');
    const { granted } = writing.acquire('a', 2, WRITE);
    const believed = writing.believe(before);
    expectBroken(checkBelief(writing.history), /after token 13 was granted to session 2/, removed, granted, believed);
  });

  it('is broken by permits that were let out twice', () => {
    const story = new Story();
    const holder = story.acquire('a', 1, permits(2));
    const removed = story.remove(holder, 'expired');
    story.acquire('a', 2, permits(1));
    const { granted } = story.acquire('a', 3, permits(1));
    const believed = story.believe(holder);
    expectBroken(checkBelief(story.history), /was granted to session 3/, removed, granted, believed);
  });
});
