/** The lines of a page that its readers copy, run as they are: only what they import is given instead, and paths are replaced. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';

const ROOT = join(import.meta.dirname, '../../../../..');

interface PageOptions {
  /** Which of the page's blocks of that language. @default the first */
  readonly place?: number;
  /** What stands in the page, and what is run instead: where there is no such text, the page is another one than the test believes. */
  readonly replaced?: Readonly<Record<string, string>>;
}

/** A block of the page without types, as a function of what it imports and takes for granted. */
export function linesOf(
  page: string,
  given: Readonly<Record<string, unknown>>,
  { place = 0, replaced = {} }: PageOptions = {},
): () => Promise<void> {
  const blocks = blocksOf(page, /^```(?:js|ts)\n([\s\S]*?)^```$/gm);
  let lines = blocks[place]?.replaceAll(/^import .*\n/gm, '');
  if (lines === undefined) throw new Error(`${page} has ${blocks.length} blocks of JavaScript`);
  for (const [text, instead] of Object.entries(replaced)) {
    if (!lines.includes(text)) throw new Error(`block ${place} of ${page} does not have ${text}`);
    lines = lines.replaceAll(text, instead);
  }
  const run = compileFunction(`return (async () => {\n${lines}\n})();`, Object.keys(given), { filename: page }) as (
    ...values: readonly unknown[]
  ) => Promise<void>;
  return () => run(...Object.values(given));
}

/** The first block of SQL of the page. */
export function sqlOf(page: string): string {
  const [sql] = blocksOf(page, /^```sql\n([\s\S]*?)^```$/gm);
  if (sql === undefined) throw new Error(`${page} has no block of SQL`);
  return sql;
}

/** As `@holdfast/client` has it, without an ensemble. */
export function clientOf(token: number): object {
  return { lock: () => ({ withLock: (work: (held: object) => Promise<unknown>) => work({ token }) }) };
}

function blocksOf(page: string, pattern: RegExp): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(pattern)].map(([, block = '']) => block);
}
