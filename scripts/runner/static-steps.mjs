// The checks that need no test runner, as both `check` and `test` run them.

import { join } from 'node:path';

import { root, tool } from './tool.mjs';

export const build = { name: 'build and types of the sources', command: [...tool('typescript', 'tsc'), '-b'] };

export const staticSteps = [
  { name: 'types of the tests', command: [...tool('typescript', 'tsc'), '-p', 'tsconfig.tests.json'] },
  { name: 'lint', command: [...tool('oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [...tool('oxfmt'), '--check'] },
  { name: 'unused files, exports and dependencies', command: [...tool('knip')] },
  { name: 'floors', command: [process.execPath, join(root, 'scripts/floors.mjs')] },
];
