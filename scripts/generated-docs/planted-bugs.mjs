/** The catalogue of planted bugs. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { MUTANTS, NAMED_CASE_MUTANTS, UNIT_TEST_MUTANTS } from '../../jepsen-lite/dist/mutants/catalogue/index.js';
import { LIVE_MUTANTS } from '../../jepsen-lite/dist/mutants/live/catalogue.js';
import { code, page, table } from './markdown.mjs';

const INTRO = `What they are for, and how they are run: [testing.md](../testing.md#planted-bugs). Each breaks one promise in one process of its own.`;
/** What runs of `jepsen mutants` have found, written down by hand. */
const MEASURED = 'docs/benchmarks/planted-bugs.json';
const ATTEMPTS = `Measured with \`npx -y pnpm@12 jepsen mutants\`, at several times ([figures](../benchmarks/planted-bugs.json)).
Three figures are those of three ranges of seeds: from 1, from 100,001, from 200,001. A single one is of the first range.
One seed in twelve was given to late answers after most rows were measured.`;
/** What `jepsen mutants --live --whole --json` has printed. */
const MEASURED_LIVE = 'docs/benchmarks/planted-bugs-live.json';
const LIVE = `Measured with \`npx -y pnpm@12 jepsen mutants --live --whole --ranges 10\` ([figures](../benchmarks/planted-bugs-live.json)), on two
processors, nothing else running. What they are: [live-faults.md](../live-faults.md#by-whole-runs).`;
const HEADINGS = ['planted bug', 'promise that it breaks', 'noticed by'];

export const plantedBugsPage = {
  file: 'planted-bugs.md',
  render(root) {
    const measured = JSON.parse(readFileSync(join(root, MEASURED), 'utf8'));
    const liveMeasured = JSON.parse(readFileSync(join(root, MEASURED_LIVE), 'utf8'));
    const sample = MUTANTS.filter(({ sample }) => sample === true).length;
    return page(
      'Planted bugs',
      INTRO,
      '## Noticed by a detector',
      `${MUTANTS.length}, each by every detector that is named. ${sample} are in the sample for every commit (\\*).`,
      table(
        HEADINGS,
        MUTANTS.map(({ name, breaks, caughtBy, sample }) => [
          code(name) + (sample === true ? ' \\*' : ''),
          breaks,
          caughtBy.join(', '),
        ]),
      ),
      '## After how many attempts',
      ATTEMPTS,
      table(['planted bug', 'detector', 'attempts', 'noticed as'], attempts(measured)),
      '## Shown by whole live runs',
      LIVE,
      table(['planted bug', 'run', 'shown', 'as', 'seconds'], wholeRuns(liveMeasured)),
      'The product itself under the same runs:',
      table(['run', 'valid', 'seconds'], controls(liveMeasured)),
      'Those that only a detector of their own notices:',
      table(
        ['planted bug', 'why no whole run shows it'],
        LIVE_MUTANTS.flatMap(({ name, whole }) => ('hidden' in whole ? [[code(name), whole.hidden]] : [])),
      ),
      '## Noticed by the test of a named case',
      `${NAMED_CASE_MUTANTS.length}. [named-cases.md](../named-cases.md) has the tests.`,
      promises(NAMED_CASE_MUTANTS),
      '## Noticed by the test of a unit',
      `${UNIT_TEST_MUTANTS.length}. \`node scripts/named-cases.mjs units\` plants them.`,
      promises(UNIT_TEST_MUTANTS),
    );
  },
};

function attempts(measured) {
  const names = new Set(MUTANTS.map(({ name }) => name));
  return Object.entries(measured).flatMap(([name, detectors]) => {
    if (!names.has(name)) throw new Error(`${MEASURED} has "${name}", which is no planted bug`);
    return Object.entries(detectors).map(([detector, found]) => [code(name), detector, found.needed, found.as]);
  });
}

function wholeRuns({ bugs }) {
  return LIVE_MUTANTS.flatMap(({ name, whole }) => {
    if ('hidden' in whole) return [];
    const found = bugs[name];
    if (found === undefined) return [[code(name), whole.run, 'not measured', '', '']];
    const { expected, runs, as, medianSeconds } = found;
    return [[code(name), whole.run, `${expected} of ${runs}`, as.join(' / '), `${medianSeconds}`]];
  });
}

function controls({ controls: measured }) {
  return Object.entries(measured).map(([run, { expected, runs, medianSeconds }]) => [
    run,
    `${expected} of ${runs}`,
    `${medianSeconds}`,
  ]);
}

function promises(mutants) {
  return table(
    HEADINGS.slice(0, 2),
    mutants.map(({ name, breaks }) => [code(name), breaks]),
  );
}
