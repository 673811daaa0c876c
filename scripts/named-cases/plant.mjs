/**
 * Plants the bugs that bring the named cases about, and those that a unit test must notice, one at a time, in what the tests load: where a planted bug has edits of a built file,
 * the tests get that file with its edits in the place of its source. Build first.
 */

import { readFileSync, realpathSync } from 'node:fs';
import { startVitest } from 'vitest/node';
import { MUTANTS, NAMED_CASE_MUTANTS, UNIT_TEST_MUTANTS } from '../../jepsen-lite/dist/mutants/catalogue/index.js';
import { applyEdits } from '../../jepsen-lite/dist/patches/patch.js';
import { builtFile } from '../../jepsen-lite/dist/patches/product.js';
import { CASES } from './page.mjs';
import { TRANSCRIPT, taggedTests, transcripts } from './titles.mjs';

/** The sources of every package, as in vitest.config.ts. */
const CONDITIONS = ['holdfast-src', 'node', 'import', 'default'];

/** A crash at each of its operations takes half a minute, and has nothing but a log store in it. */
const LOG_STORE_ALONE = '/log-store/snapshots/snapshot-crashes.test.ts';

/**
 * Says for each case what its bug makes fail; true when every test of a case noticed its own.
 * @param {string} root of the repository
 * @param {readonly string[]} only of these cases; none: of all
 */
export async function plantMutants(root, only) {
  const tests = taggedTests(root);
  const transcribed = transcripts(root);
  let ok = true;
  for (const { name, mutant, others } of CASES) {
    if (mutant === undefined || (only.length > 0 && !only.includes(name))) continue;
    const failed = await failingNames(root, mutant, tests);
    const rest = [...failed]
      .filter((other) => other !== name && !other.startsWith(TRANSCRIPT) && !sameTest(tests, name, other))
      .toSorted();
    const noticed = failed.has(name) && (!transcribed.has(name) || failed.has(`${TRANSCRIPT}${name}`));
    const asSaid = noticed && rest.length > 0 === (others !== undefined);
    ok &&= asSaid;
    const verdict = noticed ? 'noticed' : failed.has(name) ? 'NOT NOTICED by the transcript' : 'NOT NOTICED';
    process.stdout.write(
      `${asSaid ? 'ok   ' : 'WRONG'} ${name}: ${mutant} is ${verdict}${rest.length > 0 ? `, and by ${rest.join(', ')}` : ', alone'}\n`,
    );
  }
  return ok;
}

/**
 * Says for each of these bugs whether the test that is named with it fails; true when all do.
 * @param {string} root of the repository
 */
export async function plantUnitTestMutants(root) {
  let ok = true;
  for (const mutant of UNIT_TEST_MUTANTS) {
    const failed = await failingTitles(root, mutant, [mutant.test.file]);
    const noticed = failed.includes(mutant.test.title);
    ok &&= noticed;
    const others = failed.filter((title) => title !== mutant.test.title).length;
    process.stdout.write(
      `${noticed ? 'ok   ' : 'WRONG'} ${mutant.name}: ${noticed ? 'noticed' : 'NOT NOTICED'} by "${mutant.test.title}"${others > 0 ? `, and by ${others} beside it` : ''}\n`,
    );
  }
  return ok;
}

function sameTest(tests, name, other) {
  return tests.some(({ names }) => names.includes(name) && names.includes(other));
}

/**
 * The cases of its package whose tests fail with that bug.
 * @returns {Promise<Set<string>>}
 */
async function failingNames(root, mutantName, tests) {
  const mutant = [...MUTANTS, ...NAMED_CASE_MUTANTS].find(({ name }) => name === mutantName);
  if (mutant === undefined) throw new Error(`there is no mutant "${mutantName}"`);
  const folders = mutant.patches.map(({ module }) => `${module.replace('@holdfast', 'packages')}/test/`);
  const stored = mutant.patches.some(({ file }) => file.startsWith('log-store/'));
  const files = [...new Set(tests.map(({ file }) => file))].filter(
    (file) =>
      !file.includes('/e2e/') &&
      folders.some((folder) => file.startsWith(folder)) &&
      (stored || !file.endsWith(LOG_STORE_ALONE)),
  );
  // Those that carry a name.
  const titles = await failingTitles(root, mutant, files, / \[[^\]]+\]$/);
  return new Set(titles.flatMap((title) => [...title.matchAll(/\[([^\]]+)\]/g)].map(([, name]) => name)));
}

/**
 * The titles of the tests of these files that fail with that bug.
 * @param {string} root of the repository
 * @param {readonly string[]} files
 * @param {RegExp} [pattern] of all that are run
 * @returns {Promise<string[]>}
 */
async function failingTitles(root, mutant, files, pattern) {
  const vitest = await startVitest(
    'test',
    [],
    { root, config: false, watch: false, reporters: [{}], silent: true },
    {
      resolve: { conditions: CONDITIONS },
      ssr: { resolve: { conditions: CONDITIONS } },
      plugins: [planting(mutant)],
      test: {
        include: files,
        isolate: false,
        maxWorkers: 1,
        testTimeout: 60_000,
        ...(pattern === undefined ? {} : { testNamePattern: pattern }),
      },
    },
  );
  /** @type {string[]} */
  const failed = [];
  for (const module of vitest.state.getTestModules()) {
    if (module.errors().length > 0)
      throw new Error(`${mutant.name}: ${module.moduleId} does not load`, { cause: module.errors()[0] });
    for (const test of module.children.allTests('failed')) failed.push(test.name);
  }
  await vitest.close();
  process.exitCode = 0;
  return failed;
}

function planting({ patches }) {
  const bySource = new Map(patches.map((patch) => [sourceOf(patch), patch]));
  return {
    name: 'planted-bug',
    enforce: 'pre',
    load(id) {
      const patch = bySource.get(id);
      if (patch === undefined) return undefined;
      const { module, file, edits } = patch;
      return applyEdits(readFileSync(builtFile(module, file), 'utf8'), edits, `${module}/${file}`);
    },
  };
}

function sourceOf({ module, file }) {
  // The tests know a package by the directory in which it lies, not by the link to it.
  const built = realpathSync(builtFile(module, file));
  return built.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
}
