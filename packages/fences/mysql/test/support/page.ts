/** The lines of a page that its readers copy, run as they are: only what they import is given instead. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';

const ROOT = join(import.meta.dirname, '../../../../..');

/** The first block of JavaScript of the page, as a function of what it imports and takes for granted. */
export function linesOf(page: string, given: Readonly<Record<string, unknown>>): () => Promise<void> {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const [, block] = /^```js\n([\s\S]*?)^```$/m.exec(text) ?? [];
  if (block === undefined) throw new Error(`${page} has no block of JavaScript`);
  const lines = block.replaceAll(/^import .*\n/gm, '');
  const run = compileFunction(`return (async () => {\n${lines}\n})();`, Object.keys(given), { filename: page }) as (
    ...values: readonly unknown[]
  ) => Promise<void>;
  return () => run(...Object.values(given));
}

/** As `@holdfast/client` has it, without an ensemble. */
export function clientOf(token: number): object {
  return { lock: () => ({ withLock: (work: (held: object) => Promise<unknown>) => work({ token }) }) };
}
