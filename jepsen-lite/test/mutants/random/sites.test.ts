import { describe, expect, it } from 'vitest';

import { sitesOf } from '../../../src/mutants/random/sites.ts';

/** What the rules make of a body of a function: `rule: text`, in order. */
function changed(body: string): string[] {
  const text = `export function f(a, b, c) {\n${body}\n}\n`;
  return sitesOf('x.js', text).map(({ rule, start, end, replacement }) => {
    const whole = text.slice(0, start) + replacement + text.slice(end);
    return `${rule}: ${whole.slice('export function f(a, b, c) {\n'.length, -'\n}\n'.length)}`;
  });
}

describe('the places that a random mutant may change', () => {
  it.each([
    ['return a < b;', ['comparison: return a <= b;']],
    ['return a >= b;', ['comparison: return a > b;']],
    ['return a === b;', ['comparison: return a !== b;']],
    ['return a + 1;', ['off-by-one: return a - 1;']],
    ['return a && b;', ['logical: return a || b;']],
    ['return Math.min(a, b);', ['min-max: return Math.max(a, b);']],
    ['return maxIndex(a, b);', ['min-max: return (a);']],
    ['return g(a, b);', ['swapped-arguments: return g(b, a);']],
    ['if (a) return;\nb();', ['dropped-guard: ;\nb();', 'dropped-statement: if (a) return;\n;']],
    ['for (const x of a) { if (x) continue; }', ['dropped-guard: for (const x of a) { ; }']],
    ['a.b = c;', ['dropped-statement: ;']],
  ])('%s', (body, expected) => {
    expect(changed(body)).toEqual(expected);
  });

  it.each([
    ['an invariant', "invariant(a < b, 'a-is-less');"],
    ['logging', 'this.#logger.warn({ a: a + 1 }, `b`);'],
    ['an observer', 'observer?.stepped(a, b);'],
    ['what an error says', 'throw new Error(a < b ? `x` : `y`);'],
    ['the same argument twice', 'return g(a, a);'],
    ['arguments that are no names', "return g(a, 'x');"],
  ])('are not in %s', (_, body) => {
    expect(changed(body)).toEqual([]);
  });

  it('are not in constructors, without which nothing works at all', () => {
    expect(sitesOf('x.js', 'class A { constructor(a) { this.a = a; } }')).toEqual([]);
  });
});
