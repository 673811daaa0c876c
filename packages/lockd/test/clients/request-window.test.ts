import { describe, expect, it } from 'vitest';
import { MAX_UNANSWERED_REQUESTS } from '../../src/limits.ts';
import { RequestWindow } from '../../src/clients/request-window.ts';

function received(...numbers: number[]): RequestWindow {
  const window = new RequestWindow();
  for (const number of numbers) expect(window.received(number)).toBe('submit');
  return window;
}

describe('requests that were lost', () => {
  it('are asked for again from the lowest unanswered one', () => {
    const window = received(5, 6, 7);
    window.answered(5);
    expect(window.resend()).toBe(6);
  });

  it('are not asked for twice', () => {
    const window = received(5, 6);
    expect(window.resend()).toBe(5);
    expect(window.resend()).toBeUndefined();
  });

  it('are asked for from what the state machine applies next, when that is lower', () => {
    expect(received(8, 9).resend(6)).toBe(6);
  });

  it('are not followed by later ones before the client has sent them again', () => {
    const window = received(5, 6);
    window.resend();
    expect(window.received(7)).toBe('drop');
    expect(window.received(5)).toBe('submit');
    expect(window.received(6)).toBe('submit');
    expect(window.received(7)).toBe('submit');
  });

  it('need not be sent again when an older copy was answered meanwhile', () => {
    const window = received(5, 6);
    window.resend();
    window.answered(5);
    expect(window.received(6)).toBe('submit');
  });

  it('may be sent again although an older copy was answered meanwhile', () => {
    const window = received(5, 6);
    window.resend();
    window.answered(5);
    expect(window.received(5)).toBe('submit');
    expect(window.received(6)).toBe('submit');
  });

  it('is not asked for again when its answer has left, lest everything behind it waits for good', () => {
    const window = received(38);
    window.resend();
    window.answered(38);
    // The copy that the resend asked for was on its way then, and is lost.
    expect(window.received(38)).toBe('submit');
    expect(window.resend()).toBeUndefined();
    expect(window.received(39)).toBe('submit');
    expect(window.resend()).toBe(39);
  });
});

describe('a connection without unanswered requests', () => {
  it('has nothing to send again', () => {
    const window = received(1, 2);
    window.answered(1);
    window.answered(2);
    expect(window.isEmpty).toBe(true);
    expect(window.resend()).toBeUndefined();
  });
});

describe('a client that never waits for answers', () => {
  it('is stopped at the limit', () => {
    const window = new RequestWindow();
    for (let number = 1; number <= MAX_UNANSWERED_REQUESTS; number += 1) window.received(number);
    expect(window.received(MAX_UNANSWERED_REQUESTS + 1)).toBe('overflow');
  });

  it('goes on once answers have come', () => {
    const window = new RequestWindow();
    for (let number = 1; number <= MAX_UNANSWERED_REQUESTS; number += 1) window.received(number);
    window.answered(1);
    expect(window.received(MAX_UNANSWERED_REQUESTS + 1)).toBe('submit');
  });
});
