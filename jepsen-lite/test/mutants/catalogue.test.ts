import { existsSync, readFileSync } from 'node:fs';

import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

import { MUTANTS, NAMED_CASE_MUTANTS, UNIT_TEST_MUTANTS } from '../../src/mutants/catalogue/index.ts';
import { LIVE_MUTANTS } from '../../src/mutants/live/catalogue.ts';
import { applyEdits } from '../../src/patches/patch.ts';
import { builtFile } from '../../src/patches/product.ts';
import { undeclaredNames } from '../support/undeclared.ts';

const ALL = [...MUTANTS, ...NAMED_CASE_MUTANTS, ...UNIT_TEST_MUTANTS, ...LIVE_MUTANTS];

// "pnpm check" builds before it tests; after a change of the product by hand, build first.
describe('names that nothing declares', () => {
  it.each([
    ['return gone(a);', ['gone']],
    ['return this.#gone;', ['#gone']],
    ['const { a: b = gone } = a; return [b, globalThis, a.gone];', ['gone']],
    ['for (const [b, ...c] of a) c.push(b); return this.#here({ gone: 1 });', []],
  ])('in %j are %j', (body, names) => {
    const source = `class Some { #here(b) { return b; } some(a) { ${body} } } export { Some };`;
    expect(undeclaredNames('some.js', source)).toEqual(names);
  });
});

describe('the catalogue of mutants', () => {
  it.each(ALL.map((mutant) => [mutant.name, mutant] as const))('fits the product as it is built: %s', (_, mutant) => {
    for (const { module, file, edits } of mutant.patches) {
      // What was built of a source that has moved since stays where it was.
      const source = builtFile(module, file).href.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
      expect(existsSync(new URL(source)), source).toBe(true);
      const built = readFileSync(builtFile(module, file), 'utf8');
      const changed = applyEdits(built, edits, `${module}/${file}`);
      expect(parseSync(file, changed).errors).toEqual([]);
      // An edit that names what is gone makes a program that fails for that alone.
      expect(undeclaredNames(file, changed)).toEqual(undeclaredNames(file, built));
    }
  });

  it('names every mutant once', () => {
    const names = ALL.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has a sample of every detector', () => {
    const sampled = MUTANTS.filter(({ sample }) => sample === true).flatMap(({ caughtBy }) => caughtBy);
    expect(new Set(sampled)).toEqual(new Set(MUTANTS.flatMap(({ caughtBy }) => caughtBy)));
  });
});
