// The harness's own runs: worlds that are explored and simulated, and planted bugs that must be noticed.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { runTogether } from './steps.mjs';
import { root } from './tool.mjs';

const jepsen = (...args) => [process.execPath, join(root, 'jepsen-lite/dist/main.js'), ...args];

/**
 * They look at no clock, so they run beside end-to-end tests, which mostly wait, on what these leave of the processors. By groups, one after the
 * other; what is in a group runs at once, since each exploration has one thread.
 */
const IN_BACKGROUND = [
  [
    { name: 'exploration of consensus', command: jepsen('explore', '--sample') },
    { name: 'exploration of planted bugs', command: jepsen('explore', '--planted', '--sample') },
  ],
  [{ name: 'simulation of 300 seeds', command: jepsen('sim', '--seeds', '1..300', '--twice', '20') }],
];

/** With others beside it an attempt might take longer than it may. */
export const plantedBugs = {
  name: 'sample of planted bugs',
  command: jepsen('mutants', '--sample', '--jobs', String(availableParallelism())),
  live: true,
};

/** @returns {Promise<string[]>} names of the steps that failed */
export async function runInBackground() {
  const failed = [];
  for (const steps of IN_BACKGROUND) failed.push(...(await runTogether(steps.map(behindOthers))));
  return failed;
}

function behindOthers({ name, command }) {
  return { name, command: ['nice', '-n', '19', ...command] };
}
