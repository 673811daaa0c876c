import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { InputBudget, type InputDebtor } from '../../src/node/websocket/input-budget.ts';

const LIMITS = { maxUnfinishedBytes: 1_000, maxUnfinishedSeconds: 10 };

class Debtor implements InputDebtor {
  readonly ends: string[] = [];

  forgetInput(reason: string): void {
    this.ends.push(reason);
  }
}

let budget: InputBudget;

beforeEach(() => {
  vi.useFakeTimers();
  budget = new InputBudget(LIMITS);
});

afterEach(() => {
  budget.stop();
  vi.useRealTimers();
});

describe('unfinished frames that take more than there is for them', () => {
  it('end whoever has most of it, and nobody else', () => {
    const [small, large, last] = [new Debtor(), new Debtor(), new Debtor()];
    budget.owes(small, 300, 1);
    budget.owes(large, 600, 1);
    budget.owes(last, 100, 1);
    expect(large.ends).toEqual([]);
    budget.owes(last, 101, 1);
    expect(large.ends).toEqual(['unfinished-too-much']);
    expect([small.ends, last.ends]).toEqual([[], []]);
    expect(budget.bytes).toBe(401);
  });

  it('end the one whose frame began first of those which have as much', () => {
    const [first, second, third] = [new Debtor(), new Debtor(), new Debtor()];
    for (const each of [first, second, third]) budget.owes(each, 400, 1);
    expect([first, second, third].map(({ ends }) => ends.length)).toEqual([1, 0, 0]);
  });
});

describe('a frame that is not finished in time', () => {
  it('ends its connection, however much of it arrives meanwhile', () => {
    const slow = new Debtor();
    for (let second = 0; second < 10; second += 1) {
      budget.owes(slow, second + 1, 1);
      vi.advanceTimersByTime(1_000);
    }
    expect(slow.ends).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(slow.ends).toEqual(['unfinished-too-long']);
    expect(budget.bytes).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not one that ends while the next has begun', () => {
    const busy = new Debtor();
    for (let second = 0; second < 30; second += 1) {
      budget.owes(busy, 10, second);
      vi.advanceTimersByTime(1_000);
    }
    expect(busy.ends).toEqual([]);
  });

  it('is not one that could not be read while the process stood still', () => {
    const patient = new Debtor();
    budget.owes(patient, 10, 1);
    vi.setSystemTime(Date.now() + 60_000);
    vi.advanceTimersByTime(1_000);
    expect(patient.ends).toEqual([]);
  });

  it('is no debt once its connection is gone', () => {
    const gone = new Debtor();
    budget.owes(gone, 900, 1);
    budget.owes(gone, 0);
    budget.owes(new Debtor(), 900, 1);
    vi.advanceTimersByTime(20_000);
    expect(gone.ends).toEqual([]);
  });
});
