import { existsSync, readFileSync } from 'node:fs';

import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

import { MUTANTS, NAMED_CASE_MUTANTS, UNIT_TEST_MUTANTS } from '../../src/mutants/catalogue/index.ts';
import { applyEdits } from '../../src/mutants/patch.ts';
import { builtFile } from '../../src/mutants/product.ts';

// "pnpm check" builds before it tests; after a change of the product by hand, build first.
describe('the catalogue of mutants', () => {
  it.each([...MUTANTS, ...NAMED_CASE_MUTANTS, ...UNIT_TEST_MUTANTS].map((mutant) => [mutant.name, mutant] as const))(
    'fits the product as it is built: %s',
    (_, mutant) => {
      for (const { module, file, edits } of mutant.patches) {
        // What was built of a source that has moved since stays where it was.
        const source = builtFile(module, file).href.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
        expect(existsSync(new URL(source)), source).toBe(true);
        const changed = applyEdits(readFileSync(builtFile(module, file), 'utf8'), edits, `${module}/${file}`);
        expect(parseSync(file, changed).errors).toEqual([]);
      }
    },
  );

  it('names every mutant once', () => {
    const names = [...MUTANTS, ...NAMED_CASE_MUTANTS, ...UNIT_TEST_MUTANTS].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has a sample of every detector', () => {
    const sampled = MUTANTS.filter(({ sample }) => sample === true).flatMap(({ caughtBy }) => caughtBy);
    expect(new Set(sampled)).toEqual(new Set(MUTANTS.flatMap(({ caughtBy }) => caughtBy)));
  });
});
