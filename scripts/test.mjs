// `pnpm test`: everything that CI runs; with `--long` the tests, too, that are too long for every commit. With CI=true a test that was
// skipped because something is missing is a failure.

import { plantedBugs, runInBackground } from './runner/harness-steps.mjs';
import { build, staticSteps } from './runner/static-steps.mjs';
import { run, runTogether } from './runner/steps.mjs';
import { runProject, runTests, summarise } from './runner/tests.mjs';

if (process.argv.includes('--help')) {
  console.log(
    'usage: npx -y pnpm@12 test [--long]: everything that CI runs; with --long what is too long for every commit, too',
  );
  process.exit();
}
const unknown = process.argv.slice(2).filter((argument) => argument !== '--long');
if (unknown.length > 0) {
  console.error(`test: ${unknown.join(' ')} is not known; there are --long and --help`);
  process.exit(2);
}
const withLong = process.argv.includes('--long');

const startedAt = performance.now();
const failed = (await run(build)) ? [] : [build.name];
failed.push(...(await runTogether(staticSteps)));

const results = [];
async function test(tests, execute) {
  const result = await runProject(tests, execute);
  results.push(result);
  if (!result.ok) failed.push(tests.name);
}

await test({ project: 'fast', name: 'fast tests', again: false });

const background = runInBackground();
await test({ project: 'e2e', name: 'end-to-end tests', again: true }, async (project, name, files = []) => {
  // What is run again has nothing beside it.
  if (files.length > 0) await background;
  return await runTests(project, name, files);
});
failed.push(...(await background));

const others = [
  ...(withLong ? [{ project: 'e2e-long', name: 'long end-to-end tests' }] : []),
  { project: 'e2e-paced', name: 'end-to-end tests of clients under faults' },
  { project: 'e2e-alone', name: 'end-to-end tests that need the processors for themselves' },
];
for (const tests of others) await test({ ...tests, again: true });
if (!(await run(plantedBugs))) failed.push(plantedBugs.name);

const { failed: failures, unsteady, skipped, text } = summarise(results);
// Once more at the end, where whoever sees only the end of the output finds them.
for (const { name, reason } of failures) console.log(`failed: ${name}: ${reason}`);
for (const { name, reason } of unsteady) console.log(`unsteady, passed when run again: ${name}: ${reason}`);
for (const { name, reason } of skipped) console.log(`skipped: ${name}: ${reason}`);
if (process.env.CI === 'true' && skipped.length > 0) failed.push(`skipped tests, which CI does not allow`);

const seconds = Math.round((performance.now() - startedAt) / 1000);
const verdict = failed.length === 0 ? 'passed' : `FAILED in ${failed.join(', ')}`;
console.log(`test: ${verdict}; tests: ${text}; ${seconds} s`);
process.exitCode = failed.length === 0 ? 0 : 1;
