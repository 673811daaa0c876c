// Vitest's global set-up for end-to-end tests: builds the programs that they start (nothing to do takes 0.2 s).

import { spawnSync } from 'node:child_process';

import { bundlePrograms } from '../bundle-programs.mjs';
import { root, tool } from './tool.mjs';

export async function setup() {
  const [program, ...args] = tool('typescript', 'tsc');
  const build = spawnSync(program, [...args, '-b'], { cwd: root, encoding: 'utf8' });
  if (build.status !== 0) {
    throw new Error(`the programs cannot be built, so end-to-end tests cannot run:\n${build.stdout}${build.stderr}`);
  }
  await bundlePrograms(root);
}
