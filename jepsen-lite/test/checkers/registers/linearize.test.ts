import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { linearize, type RegisterOperation } from '../../../src/checkers/registers/linearize.ts';

interface Operation extends RegisterOperation<number> {
  readonly wrote?: number;
  readonly read?: number;
}

function write(invokedAt: number, returnedAt: number, wrote: number): Operation {
  return { invokedAt, returnedAt, observes: false, wrote, step: () => wrote };
}

function read(invokedAt: number, returnedAt: number, value: number): Operation {
  return { invokedAt, returnedAt, observes: true, read: value, step: (state) => (state === value ? state : undefined) };
}

function search(operations: readonly Operation[], budget = 1_000_000): ReturnType<typeof linearize<number, Operation>> {
  return linearize<number, Operation>(operations, 0, String, budget);
}

/** Tries every order, and every choice of those that never returned. */
function explained(operations: readonly Operation[], state = 0): boolean {
  const done = operations.filter(({ returnedAt }) => returnedAt !== Number.POSITIVE_INFINITY);
  if (done.length === 0) return true;
  const firstReturn = Math.min(...done.map(({ returnedAt }) => returnedAt));
  return operations.some((operation) => {
    if (operation.invokedAt > firstReturn) return false;
    const after = operation.step(state);
    return (
      after !== undefined &&
      explained(
        operations.filter((other) => other !== operation),
        after,
      )
    );
  });
}

/** Up to seven calls over few moments and values, so that many overlap and many contradict. */
const histories = fc
  .array(
    fc.record({
      writes: fc.boolean(),
      value: fc.integer({ min: 0, max: 2 }),
      returns: fc.boolean(),
      at: fc.tuple(fc.nat(30), fc.nat(12)),
    }),
    { maxLength: 7 },
  )
  .map((calls) =>
    calls.flatMap(({ writes, value, returns, at: [start, length] }, n) => {
      // Distinct moments: ten parts each.
      const invokedAt = start * 10 + n;
      const returnedAt = returns ? invokedAt + 10 + length * 10 : Number.POSITIVE_INFINITY;
      if (!returns && !writes) return [];
      return [writes ? write(invokedAt, returnedAt, value) : read(invokedAt, returnedAt, value)];
    }),
  );

describe('the search for an order', () => {
  it('finds one exactly when trying all of them does', () => {
    const seen = { found: 0, impossible: 0 };
    fc.assert(
      fc.property(histories, (operations) => {
        const { type } = search(operations);
        expect(type).toBe(explained(operations) ? 'found' : 'impossible');
        if (type !== 'givenUp') seen[type] += 1;
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(seen.found, seen.impossible)).toBeGreaterThan(300);
  });

  it('takes few steps for a long history of many clients, with writes of unknown outcome', () => {
    const operations: Operation[] = [];
    let state = 0;
    for (let n = 0; n < 3_000; n += 1) {
      const at = n * 10;
      if (n % 100 === 50) operations.push(write(at, Number.POSITIVE_INFINITY, -n));
      if (n % 3 === 0) {
        operations.push(write(at, at + 35, n));
        state = n;
      } else {
        operations.push(read(at + 1, at + 38, state));
      }
    }
    const outcome = search(operations);
    expect(outcome.type).toBe('found');
    expect(outcome.visited).toBeLessThan(20_000);
  });

  it('says what could not be explained, and what was there instead', () => {
    const first = write(1, 2, 7);
    const stuck = read(3, 4, 9);
    expect(search([first, stuck, read(5, 6, 7)])).toMatchObject({ type: 'impossible', stuck, state: 7, writer: first });
  });

  it('gives up after so many states', () => {
    const maybe = Array.from({ length: 14 }, (_, n) => write(n, Number.POSITIVE_INFINITY, n + 1));
    expect(search([...maybe, read(100, 101, 99)], 500)).toEqual({ type: 'givenUp', visited: 500 });
  });
});
