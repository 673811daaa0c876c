// The tools of users that the workspace itself does not need. They are installed once, beside its own modules.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root, tool } from '../runner/tool.mjs';
import { command } from './command.mjs';

const DIRECTORY = join(root, 'node_modules/.cache/holdfast-package-tools');
const TOOLS = {
  '@arethetypeswrong/cli': '0.18.5',
  '@types/node': '20.19.43',
  esbuild: '0.28.2',
  jest: '30.5.2',
  publint: '0.3.25',
  typescript: '5.9.3',
};

/** @returns {Record<'attw' | 'esbuild' | 'jest' | 'publint' | 'typescript5' | 'typescript7' | 'vitest' | 'types', string>} scripts */
export function installTools() {
  mkdirSync(DIRECTORY, { recursive: true });
  writeFileSync(join(DIRECTORY, 'package.json'), JSON.stringify({ private: true, dependencies: TOOLS }));
  writeFileSync(
    join(DIRECTORY, 'pnpm-workspace.yaml'),
    "packages: []\nallowBuilds:\n  '@parcel/watcher': false\n  esbuild: false\n  unrs-resolver: false\n",
  );
  command('npx', ['-y', 'pnpm@12', 'install', '--prefer-offline', '--no-frozen-lockfile'], { cwd: DIRECTORY });
  const at = (path) => join(DIRECTORY, 'node_modules', path);
  const [, typescript7] = tool('typescript', 'tsc');
  const [, vitest] = tool('vitest');
  return {
    attw: at('@arethetypeswrong/cli/dist/index.js'),
    esbuild: at('esbuild/lib/main.js'),
    jest: at('jest/bin/jest.js'),
    publint: at('publint/src/cli.js'),
    typescript5: at('typescript/bin/tsc'),
    typescript7,
    types: at('@types/node'),
    vitest,
  };
}
