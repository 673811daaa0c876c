import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { checkOwners } from '../../../src/checkers/locks/owners.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

describe('owners', () => {
  it('follow one another, also when a session ends with several locks', () => {
    const story = new Story();
    story.release(story.acquire('a', 1));
    const a = story.acquire('a', 1);
    const b = story.acquire('b', 1);
    const waits = story.enqueue('a', 2);
    const index = story.nextIndex();
    // As the harness happens to tell it: the state machine removes before it grants.
    story.end(1, 'expired', index);
    story.grant('a', 2, waits.hold, index);
    story.remove(a, 'expired', index);
    story.remove(b, 'expired', index);
    expectValid(checkOwners(story.history));
  });

  it('cannot be judged without the log', () => {
    const story = new Story();
    story.quiet();
    expectUnknown(checkOwners(story.history));
  });

  it('are broken by two at once', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    const second = story.acquire('a', 2);
    expectBroken(
      checkOwners(story.history),
      /^lock a was granted to hold 12 while hold 11 had it$/,
      first.granted,
      second.granted,
    );
  });

  it('are broken by a grant to somebody who did not wait', () => {
    const story = new Story();
    story.release(story.acquire('b', 1));
    const grant = story.grant('a', 2, 30);
    expectBroken(checkOwners(story.history), /granted to hold 30 of session 2, which did not wait for it/, grant);
  });

  it('are broken by a removal of what was not there', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    story.release(held);
    const again = story.remove(held, 'released');
    expectBroken(checkOwners(story.history), /^hold 11 of session 1 left lock a, where it was not$/, again);
  });

  it('are broken by a session that ends and keeps a hold or a wait', () => {
    const holding = new Story();
    const held = holding.acquire('a', 1);
    const ended = holding.end(1, 'expired');
    expectBroken(checkOwners(holding.history), /session 1 has ended and still has lock a/, held.granted, ended);
    const waiting = new Story();
    waiting.acquire('a', 2);
    const wait = waiting.enqueue('a', 1);
    const end = waiting.end(1, 'closed');
    expectBroken(checkOwners(waiting.history), /session 1 has ended and still waits for lock a/, wait, end);
  });

  it('are broken by a grant to a session that has ended', () => {
    const story = new Story();
    story.acquire('b', 2);
    const ended = story.end(1, 'expired');
    const wait = story.enqueue('a', 1);
    expectBroken(checkOwners(story.history), /session 1, which has ended, was let into the queue of a/, ended, wait);
  });

  it('are broken by a session that ends twice', () => {
    const story = new Story();
    const first = story.end(1, 'expired');
    const second = story.end(1, 'closed');
    expectBroken(checkOwners(story.history), /^session 1 ended twice$/, first, second);
  });

  it('are broken by entries that are applied out of order', () => {
    const story = new Story();
    const later = story.end(1, 'expired', 40);
    const earlier = story.end(2, 'expired', 39);
    expectBroken(checkOwners(story.history), /^entry 39 was first applied after entry 40$/, later, earlier);
  });
});

describe('owners of a lock that several may hold', () => {
  const READ: LockRequest = { type: 'readWrite', write: false };
  const WRITE: LockRequest = { type: 'readWrite', write: true };
  const permits = (count: number): LockRequest => ({ type: 'semaphore', permits: count, limit: 3 });

  it('are those who read, those who have permits, and who wrote and reads on', () => {
    const story = new Story();
    const first = story.acquire('a', 1, READ);
    story.release(story.acquire('a', 2, READ));
    story.release(first);
    const writer = story.acquire('a', 1, WRITE);
    story.downgrade(writer);
    story.acquire('a', 2, READ);
    story.acquire('b', 1, permits(2));
    story.acquire('b', 2, permits(1));
    const verdict = checkOwners(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ together: 3, downgrades: 1 });
  });

  it('have each of several locks by one hold', () => {
    const story = new Story();
    const index = story.nextIndex();
    for (const lock of ['a', 'b']) story.enqueue(lock, 1, index);
    for (const lock of ['a', 'b']) story.grant(lock, 1, index);
    const released = story.nextIndex();
    for (const lock of ['a', 'b']) story.remove({ lock, session: 1, hold: index }, 'released', released);
    story.acquire('b', 2);
    expectValid(checkOwners(story.history));
  });

  it('are broken by one who writes beside those who read, and by one permit too many', () => {
    const reading = new Story();
    const reader = reading.acquire('a', 1, READ);
    const writer = reading.acquire('a', 2, WRITE);
    expectBroken(checkOwners(reading.history), /while hold 11 had it/, reader.granted, writer.granted);
    const taking = new Story();
    const holder = taking.acquire('b', 1, permits(2));
    const next = taking.acquire('b', 2, permits(2));
    expectBroken(checkOwners(taking.history), /while hold 11 had it/, holder.granted, next.granted);
  });

  it('are broken by a downgrade of what is not held to write', () => {
    const story = new Story();
    const reader = story.acquire('a', 1, READ);
    const { logged } = story.downgrade(reader);
    expectBroken(checkOwners(story.history), /^hold 11 of session 1 was downgraded at lock a/, reader.granted, logged);
  });
});
