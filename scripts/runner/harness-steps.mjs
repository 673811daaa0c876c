// The harness's own runs: worlds that are explored and simulated, and planted bugs that must be noticed. They compute and never wait.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { root } from './tool.mjs';

const jepsen = (...args) => [process.execPath, join(root, 'jepsen-lite/dist/main.js'), ...args];

export const harnessSteps = [
  { name: 'exploration of consensus', command: jepsen('explore', '--sample'), output: 'at-end', yields: true },
  {
    name: 'exploration of planted bugs',
    command: jepsen('explore', '--planted', '--sample'),
    output: 'at-end',
    yields: true,
  },
  {
    name: 'simulation of 300 seeds',
    command: jepsen('sim', '--seeds', '1..300', '--twice', '20'),
    output: 'at-end',
    yields: true,
  },
  {
    name: 'sample of planted bugs',
    command: jepsen('mutants', '--sample', '--jobs', String(availableParallelism())),
    output: 'at-end',
    yields: true,
  },
];
