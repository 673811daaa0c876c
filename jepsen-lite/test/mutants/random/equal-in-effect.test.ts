import { existsSync, readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { builtFile } from '../../../src/patches/product.ts';
import { AREAS } from '../../../src/mutants/random/areas.ts';
import { EQUAL_IN_EFFECT } from '../../../src/mutants/random/equal-in-effect.ts';

const MODULES = [...new Set(AREAS.map(({ module }) => module))];

describe('a random mutant that is known to be equal in effect', () => {
  it.each(EQUAL_IN_EFFECT)('is of one line of the product: $file, $line', ({ file, line, behind }) => {
    const texts = MODULES.map((module) => builtFile(module, file))
      .filter((url) => existsSync(url))
      .map((url) => readFileSync(url, 'utf8').split('\n'));
    const places = texts
      .flatMap((lines) => lines.map((text, at) => ({ text: text.trim(), before: lines[at - 1]?.trim() })))
      .filter(({ text, before }) => text === line && (behind ?? before) === before);
    expect(places).toHaveLength(1);
  });
});
