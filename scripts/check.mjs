// `pnpm check`: lint, format, types, floors, unused code and the fast tests, for every commit.

import { build, staticSteps } from './runner/static-steps.mjs';
import { run, runTogether } from './runner/steps.mjs';
import { runTests, summarise } from './runner/tests.mjs';

if (process.argv.includes('--help')) {
  console.log(
    'usage: npx -y pnpm@12 check: lint, format, types, floors, unused code and the fast tests, for every commit',
  );
  process.exit();
}

const startedAt = performance.now();
const failed = (await run(build)) ? [] : [build.name];
failed.push(...(await runTogether(staticSteps)));
const fast = await runTests('fast', 'fast tests');
if (!fast.ok) failed.push('fast tests');

const seconds = Math.round((performance.now() - startedAt) / 1000);
const verdict = failed.length === 0 ? 'passed' : `FAILED in ${failed.join(', ')}`;
console.log(`check: ${verdict}; tests: ${summarise([fast]).text}; ${seconds} s`);
process.exitCode = failed.length === 0 ? 0 : 1;
