import { readFileSync } from 'node:fs';

import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

import { applyEdits } from '../../../src/patches/patch.ts';
import { builtFile } from '../../../src/patches/product.ts';
import { AREAS } from '../../../src/mutants/random/areas.ts';
import { drawMutants, type RandomMutant } from '../../../src/mutants/random/draw.ts';
import { RULES } from '../../../src/mutants/random/sites.ts';

function textWith({ area, file, patches }: RandomMutant): { readonly before: string; readonly after: string } {
  const before = readFileSync(builtFile(area.module, file), 'utf8');
  return { before, after: applyEdits(before, patches[0]?.edits ?? [], file) };
}

describe('random mutants', () => {
  it('are the same for the same seed, and others for another', () => {
    const names = (seed: number): string[] => drawMutants(AREAS, 50, seed).map(({ name }) => name);
    expect(names(7)).toEqual(names(7));
    expect(names(7)).not.toEqual(names(8));
  });

  it('are numbered, the first ones the same however many are drawn, so that a draw can be judged in slices', () => {
    const drawn = drawMutants(AREAS, 50, 7);
    expect(drawn.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
    expect(drawMutants(AREAS, 20, 7)).toEqual(drawn.slice(0, 20));
  });

  it('are of every area and of every rule, each place once', () => {
    const all = drawMutants(AREAS, Infinity, 1);
    expect(new Set(all.map(({ area }) => area))).toEqual(new Set(AREAS));
    expect(new Set(all.map(({ rule }) => rule))).toEqual(new Set(RULES));
    expect(new Set(all.map(({ name, before }) => `${name} ${before}`)).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(3_000);
  });

  it('change one place of one file, into something that can be parsed', () => {
    for (const mutant of drawMutants(AREAS, 200, 3)) {
      const { before, after } = textWith(mutant);
      expect(parseSync(mutant.file, after).errors, mutant.name).toEqual([]);
      expect(after.length - before.length, mutant.name).toBe(mutant.after.length - mutant.before.length);
    }
  });
});
