// The harness's own runs, after the tests: worlds that are explored and simulated, and planted bugs that must be noticed.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { root } from './tool.mjs';

const jepsen = (...args) => [process.execPath, join(root, 'jepsen-lite/dist/main.js'), ...args];

export const harnessSteps = [
  { name: 'exploration of consensus', command: jepsen('explore', '--sample'), live: true },
  { name: 'exploration of planted bugs', command: jepsen('explore', '--planted', '--sample'), live: true },
  { name: 'simulation of 300 seeds', command: jepsen('sim', '--seeds', '1..300', '--twice', '20'), live: true },
  {
    name: 'sample of planted bugs',
    command: jepsen('mutants', '--sample', '--jobs', String(availableParallelism())),
    live: true,
  },
];
