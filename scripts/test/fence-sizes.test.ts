import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const FENCES = join(import.meta.dirname, '../../packages/fences');
const MAX_LINES = 400;
/** A suite of tests: no fence. */
const OTHERS = ['conformance'];

/** Lines of TypeScript with the SQL and the Lua in it, without blank ones and comments of any of the three. */
function linesOf(text: string): number {
  const code = text.replaceAll(/^\s*\/\*\*?[^]*?\*\/[^\S\n]*$/gm, '');
  return code.split('\n').filter((line) => !/^\s*(?:$|\/\/|--\s)/.test(line)).length;
}

function linesIn(name: string): number {
  const files = readdirSync(join(FENCES, name, 'src'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .reduce((sum, file) => sum + linesOf(readFileSync(join(FENCES, name, 'src', file), 'utf8')), 0);
}

describe('the size of a fence', () => {
  it('is counted without comments and blank lines', () => {
    expect(
      linesOf('/** Doc. */\n\n// why\nconst a = 1;\n/**\n * Doc.\n */\nconst sql = `\n  -- so\n  SELECT 1`;\n'),
    ).toBe(3);
  });

  const names = readdirSync(FENCES).filter((name) => !OTHERS.includes(name));

  it.each(names)('of %s lets it be read before it is trusted', (name) => {
    const lines = linesIn(name);
    expect(lines).toBeGreaterThan(100);
    expect(lines).toBeLessThanOrEqual(MAX_LINES);
  });
});
