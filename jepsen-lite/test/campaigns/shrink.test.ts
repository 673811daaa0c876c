import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { shrink, smallerNumbers, withoutParts, withSmaller } from '../../src/campaigns/shrink.ts';

const UNLIMITED = { maxTries: 100_000 };

function failsWhen<S>(predicate: (state: S) => boolean): (state: S) => Promise<boolean> {
  return (state) => Promise.resolve(predicate(state));
}

const distinctNumbers = fc.uniqueArray(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 40 });

describe('shrinking a list', () => {
  it('finds exactly what is needed, when more never heals', async () => {
    await fc.assert(
      fc.asyncProperty(distinctNumbers, fc.integer({ min: 1, max: 5 }), async (list, some) => {
        const needed = list.slice(0, some);
        const fails = failsWhen<readonly number[]>((state) => needed.every((part) => state.includes(part)));
        const { smallest, finished } = await shrink<readonly number[]>(list, withoutParts, fails, UNLIMITED);
        expect(new Set(smallest)).toEqual(new Set(needed));
        expect(finished).toBe(true);
      }),
    );
  });

  it('ends where no single element can go, when some of them heal', async () => {
    await fc.assert(
      fc.asyncProperty(distinctNumbers, fc.integer({ min: 2, max: 7 }), async (list, modulus) => {
        const remainder = sum(list) % modulus;
        const predicate = (state: readonly number[]): boolean => state.length > 0 && sum(state) % modulus === remainder;
        const { smallest } = await shrink<readonly number[]>(list, withoutParts, failsWhen(predicate), UNLIMITED);
        expect(predicate(smallest)).toBe(true);
        for (const one of smallest.keys()) {
          expect(predicate(smallest.filter((_, position) => position !== one))).toBe(false);
        }
      }),
    );
  });

  it('takes few tries for a long list of which little is needed', async () => {
    const list = Array.from({ length: 1_024 }, (_, n) => n);
    const fails = failsWhen<readonly number[]>((state) => state.includes(700));
    const { smallest, tries } = await shrink<readonly number[]>(list, withoutParts, fails, UNLIMITED);
    expect(smallest).toEqual([700]);
    expect(tries).toBeLessThan(60);
  });

  it('tries the same in the same order each time', async () => {
    const trace = async (): Promise<string[]> => {
      const tried: string[] = [];
      const fails = (state: readonly number[]): Promise<boolean> => {
        tried.push(state.join(','));
        return Promise.resolve(state.length % 3 !== 0);
      };
      await shrink<readonly number[]>([5, 1, 4, 2, 8, 3, 9], withoutParts, fails, UNLIMITED);
      return tried;
    };
    expect(await trace()).toEqual(await trace());
  });
});

describe('a limit of tries', () => {
  it('stops the search, with the smallest so far', async () => {
    let tries = 0;
    const fails = (state: readonly number[]): Promise<boolean> => {
      tries += 1;
      return Promise.resolve(state.includes(7));
    };
    const list = Array.from({ length: 64 }, (_, n) => n);
    const shrunk = await shrink<readonly number[]>(list, withoutParts, fails, { maxTries: 6 });
    expect(shrunk).toMatchObject({ tries: 6, finished: false });
    expect(tries).toBe(6);
    expect(shrunk.smallest).toContain(7);
    expect(shrunk.smallest.length).toBeLessThan(64);
  });

  it('of none leaves what failed as it is', async () => {
    const shrunk = await shrink(
      [1, 2],
      withoutParts,
      failsWhen(() => true),
      { maxTries: 0 },
    );
    expect(shrunk).toEqual({ smallest: [1, 2], tries: 0, finished: false });
  });
});

describe('shrinking a plan of several parts', () => {
  interface Plan {
    readonly faults: readonly string[];
    readonly clients: number;
    readonly durationMs: number;
  }

  function* smaller(plan: Plan): Iterable<Plan> {
    yield* withSmaller(plan, 'faults', withoutParts);
    yield* withSmaller(plan, 'clients', (clients) => smallerNumbers(clients, 1));
    yield* withSmaller(plan, 'durationMs', smallerNumbers);
  }

  it('shrinks each of them', async () => {
    const plan: Plan = { faults: ['cut', 'pause', 'crash', 'clog'], clients: 8, durationMs: 60_000 };
    const fails = failsWhen<Plan>(
      ({ faults, clients, durationMs }) => faults.includes('crash') && clients >= 3 && durationMs >= 1_234,
    );
    const { smallest } = await shrink(plan, smaller, fails, UNLIMITED);
    expect(smallest).toEqual({ faults: ['crash'], clients: 3, durationMs: 1_234 });
  });
});

describe('candidates', () => {
  it('of a list come most ambitious first', () => {
    expect([...withoutParts(['a', 'b', 'c', 'd'])].map((list) => list.join(''))).toEqual([
      '',
      'cd',
      'ab',
      'bcd',
      'acd',
      'abd',
      'abc',
    ]);
  });

  it('of an empty list and of the least number are none', () => {
    expect([...withoutParts([])]).toEqual([]);
    expect([...smallerNumbers(3, 3)]).toEqual([]);
  });

  it('of a number go from the least to one less', () => {
    expect([...smallerNumbers(100)]).toEqual([0, 50, 75, 88, 94, 97, 99]);
    expect([...smallerNumbers(10, 8)]).toEqual([8, 9]);
  });
});

function sum(list: readonly number[]): number {
  return list.reduce((total, part) => total + part, 0);
}
