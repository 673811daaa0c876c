// The harness's own runs, after the tests: worlds that are explored and simulated, and planted bugs that must be noticed.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { root } from './tool.mjs';

const jepsen = (...args) => [process.execPath, join(root, 'jepsen-lite/dist/main.js'), ...args];

/** Each has one thread: they run at once. */
export const explorations = [
  { name: 'exploration of consensus', command: jepsen('explore', '--sample') },
  { name: 'exploration of planted bugs', command: jepsen('explore', '--planted', '--sample') },
];

export const harnessSteps = [
  { name: 'simulation of 300 seeds', command: jepsen('sim', '--seeds', '1..300', '--twice', '20'), live: true },
  {
    name: 'sample of planted bugs',
    command: jepsen('mutants', '--sample', '--jobs', String(availableParallelism())),
    live: true,
  },
];
