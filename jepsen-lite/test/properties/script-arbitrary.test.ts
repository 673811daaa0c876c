import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Move } from '../../src/properties/script/move.ts';
import { ScriptArbitrary } from '../../src/properties/script/script-arbitrary.ts';

/** Fails for scripts with two releases after an open. */
function holds(script: readonly Move[]): boolean {
  const open = script.findIndex(({ kind }) => kind === 'open');
  return open < 0 || script.slice(open).filter(({ kind }) => kind === 'release').length < 2;
}

describe('a random script', () => {
  it('has as many moves as were asked for', () => {
    expect(fc.sample(new ScriptArbitrary(37), { numRuns: 20, seed: 1 }).map(({ length }) => length)).toEqual(
      Array<number>(20).fill(37),
    );
  });

  it('shrinks to the moves that matter, with the smallest numbers', () => {
    const { counterexample } = fc.check(fc.property(new ScriptArbitrary(200), holds), { seed: 1 });
    const numbers = { who: 0, what: 0, pick: 0, flavour: 0, ack: 0 };
    expect(counterexample?.[0]).toEqual([
      { kind: 'open', ...numbers },
      { kind: 'release', ...numbers },
      { kind: 'release', ...numbers },
    ]);
  });

  it('shrinks in a number of runs that hardly grows faster than its length', () => {
    let runs = 0;
    fc.check(
      fc.property(new ScriptArbitrary(400), (script) => {
        runs += 1;
        return holds(script);
      }),
      { seed: 1 },
    );
    expect(runs).toBeLessThan(400);
  });
});
