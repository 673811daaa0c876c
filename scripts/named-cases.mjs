/**
 * Writes docs/named-cases.md. `check` says what is wrong with the cases, and whether the page is stale; `mutants [CASE...]` plants the bugs
 * that bring the cases about, and says which of their tests notice; `units` plants those that a unit test must notice.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE, problems, renderPage } from './named-cases/page.mjs';
import { taggedTests, transcripts } from './named-cases/titles.mjs';

const root = join(import.meta.dirname, '..');
const CATALOGUE = join(root, 'jepsen-lite/src/mutants/catalogue');
const [what, ...names] = process.argv.slice(2);
const tests = taggedTests(root);
const transcribed = transcripts(root);

switch (what) {
  case undefined:
    writeFileSync(join(root, PAGE), renderPage(tests, transcribed));
    break;
  case 'check': {
    const found = problems(tests, mutantNames(), transcribed);
    if (readFileSync(join(root, PAGE), 'utf8') !== renderPage(tests, transcribed))
      found.push(`${PAGE} is stale: node scripts/named-cases.mjs writes it anew`);
    for (const problem of found) process.stderr.write(`${problem}\n`);
    process.exitCode = found.length > 0 ? 1 : 0;
    break;
  }
  case 'mutants': {
    // It needs what was built, which a check does not.
    const { plantMutants } = await import('./named-cases/plant.mjs');
    if (!(await plantMutants(root, names))) process.exitCode = 1;
    break;
  }
  case 'units': {
    const { plantUnitTestMutants } = await import('./named-cases/plant.mjs');
    if (!(await plantUnitTestMutants(root))) process.exitCode = 1;
    break;
  }
  default:
    process.stderr.write('usage: node scripts/named-cases.mjs [check | mutants [CASE...] | units]\n');
    process.exitCode = 2;
}

/** Of all planted bugs. */
function mutantNames() {
  const files = readdirSync(CATALOGUE, { recursive: true }).filter((file) => file.endsWith('.ts'));
  const sources = files.map((file) => readFileSync(join(CATALOGUE, file), 'utf8'));
  return new Set(sources.flatMap((source) => [...source.matchAll(/^ {4}name: '([^']+)',$/gm)].map(([, name]) => name)));
}
