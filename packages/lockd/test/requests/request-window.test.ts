import { describe, expect, it } from 'vitest';
import { MAX_COMMAND_BYTES, MAX_UNANSWERED_REQUESTS } from '../../src/limits.ts';
import { RequestBudget } from '../../src/requests/request-budget.ts';
import { RequestWindow } from '../../src/requests/request-window.ts';

const newWindow = (): RequestWindow => new RequestWindow(new RequestBudget());

function received(...numbers: number[]): RequestWindow {
  const window = newWindow();
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

  it('go on behind an older copy that was answered meanwhile, and the copy that was asked for is dropped', () => {
    const window = received(5, 6);
    window.resend();
    window.answered(5);
    expect(window.received(5)).toBe('drop');
    expect(window.received(6)).toBe('submit');
  });

  it('are not asked for again when their answer has left, lest everything behind them waits for good', () => {
    const window = received(38);
    window.resend();
    window.answered(38);
    // The copy that the resend asked for was on its way then.
    expect(window.received(38)).toBe('drop');
    expect(window.resend()).toBeUndefined();
    expect(window.received(39)).toBe('submit');
    expect(window.resend()).toBe(39);
  });
});

describe('a request that is answered before lower ones', () => {
  /** 210 to 214 came through the connection before, and are applied; of their copies here and of 215 the client hears that they are lost. */
  function ahead(): RequestWindow {
    const window = received(210, 211, 212, 213, 214, 215);
    expect(window.resend()).toBe(210);
    window.answered(215);
    return window;
  }

  it('leaves those for the client to send again', () => {
    const window = ahead();
    for (const number of [210, 211, 212, 213, 214]) expect(window.received(number)).toBe('submit');
    expect(window.received(215)).toBe('drop');
    expect(window.received(216)).toBe('submit');
    expect(window.size).toBe(6);
    for (const number of [210, 211, 212, 213, 214, 216]) window.answered(number);
    expect(window.isEmpty).toBe(true);
    expect(window.size).toBe(0);
  });

  it('is not asked for again with them', () => {
    const window = ahead();
    for (const number of [210, 211]) window.received(number);
    window.answered(210);
    expect(window.resend()).toBe(211);
    for (const number of [211, 212, 213, 214]) expect(window.received(number)).toBe('submit');
    for (const number of [211, 212, 213, 214]) window.answered(number);
    expect(window.resend()).toBeUndefined();
    expect(window.received(216)).toBe('submit');
  });

  it('while they are under way takes none of them from what is asked for again', () => {
    const window = received(5, 6, 7);
    window.answered(7);
    expect(window.covers(6)).toBe(true);
    expect(window.covers(7)).toBe(false);
    expect(window.size).toBe(2);
    expect(window.resend()).toBe(5);
  });
});

describe('a copy of a request', () => {
  it('is dropped while the first one waits for its answer, which both get', () => {
    const window = received(5, 6);
    for (const number of [5, 6]) expect(window.received(number)).toBe('drop');
    window.answered(5);
    expect(window.received(6)).toBe('drop');
  });

  it('is dropped once the answer has left on this connection, however low its number', () => {
    const window = received(5, 6);
    window.answered(5);
    for (const number of [1, 4, 5]) expect(window.received(number)).toBe('drop');
  });

  it('comes through a connection that has not answered it', () => {
    const window = received(5);
    window.answered(5);
    window.reset();
    expect(window.received(5)).toBe('submit');
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
    const window = newWindow();
    for (let number = 1; number <= MAX_UNANSWERED_REQUESTS; number += 1) window.received(number);
    expect(window.received(MAX_UNANSWERED_REQUESTS + 1)).toBe('overflow');
  });

  it('goes on once answers have come', () => {
    const window = newWindow();
    for (let number = 1; number <= MAX_UNANSWERED_REQUESTS; number += 1) window.received(number);
    window.answered(1);
    expect(window.received(MAX_UNANSWERED_REQUESTS + 1)).toBe('submit');
  });
});

describe('the bytes of unanswered requests', () => {
  /** What a connection gets of them if it asks for requests of `bytes` until it is refused, answered or not. */
  function flooded(window: RequestWindow, bytes: number): number {
    let number = 1;
    while (window.received(number, bytes) === 'submit') number += 1;
    return (number - 1) * bytes;
  }

  it('are shared: one flood gets half of them, and whatever many floods take, something is left for who asks for little', () => {
    const budget = new RequestBudget();
    const { limit } = budget;
    const alone = flooded(new RequestWindow(budget), 100_000);
    expect(alone / limit).toBeGreaterThan(0.45);
    expect(alone / limit).toBeLessThanOrEqual(0.5);
    for (let n = 0; n < 30; n += 1) flooded(new RequestWindow(budget), 10_000);
    expect(budget.bytes).toBeLessThan(0.8 * limit);
    for (let n = 0; n < 100; n += 1) expect(new RequestWindow(budget).received(1, 10_000)).toBe('submit');
  });

  it('have room for the largest command however many servers share them', () => {
    for (let servers = 0; servers <= 31; servers += 1) {
      const budget = new RequestBudget();
      budget.shareAmong(servers);
      expect(new RequestWindow(budget).received(1, MAX_COMMAND_BYTES)).toBe('submit');
    }
  });

  it('are given back as requests are answered, lost or gone with their session', () => {
    const budget = new RequestBudget();
    const [first, second, third] = [1, 2, 3].map(() => new RequestWindow(budget));
    for (const window of [first, second, third]) {
      for (let number = 1; number <= 10; number += 1) window?.received(number, number * 1_000);
    }
    expect(budget.bytes).toBe(3 * 55_000);
    for (let number = 1; number <= 10; number += 1) first?.answered(number);
    expect(budget.bytes).toBeCloseTo(2 * 55_000);
    second?.resend();
    third?.reset();
    expect(budget.bytes).toBeCloseTo(0);
  });

  it('that are too much are awaited again, and nothing before them', () => {
    const budget = new RequestBudget();
    const window = new RequestWindow(budget);
    const most = flooded(window, 1_000_000) / 1_000_000;
    const refused = most + 1;
    expect(window.received(refused + 1, 1)).toBe('drop');
    for (const number of [1, 2]) window.answered(number);
    expect(window.received(refused + 1, 1)).toBe('drop');
    expect(window.received(refused, 1_000_000)).toBe('submit');
    expect(window.received(refused + 1, 1)).toBe('submit');
    expect(window.resend()).toBe(3);
  });
});
