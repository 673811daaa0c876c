// Empty projects into which the packages are installed. Registries are asked for what others have published; ours are files.

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../runner/tool.mjs';
import { command } from './command.mjs';

/** What an application has anyway. */
const APPLICATION = { '@opentelemetry/api': '1.9.1' };

/** @returns {string} the project */
export function installByNpm(directory, packed) {
  emptyProject(directory, { dependencies: APPLICATION });
  const tarballs = packed.map(({ tarball }) => tarball);
  command('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs], { cwd: directory });
  const { packages } = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8'));
  const own = Object.entries(packages).filter(([path]) => path.startsWith('node_modules/@holdfast/'));
  const withScripts = own.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  if (own.length !== packed.length || withScripts.length > 0)
    throw new Error(`npm installed ${own.map(([path]) => path).join(', ')}; with scripts: ${withScripts.join(', ')}`);
  return directory;
}

/** Without what it hoists by default: a package finds only what it has declared. */
export function installByPnpm(directory, packed) {
  const own = Object.fromEntries(packed.map(({ name, tarball }) => [name, `file:${tarball}`]));
  emptyProject(directory, { dependencies: { ...APPLICATION, ...own } });
  // A peer of that version is found among the tarballs, not in a registry.
  const overrides = Object.entries(own).map(([name, file]) => `  '${name}': '${file}'\n`);
  const settings = ['packages: []\n', 'hoist: false\n', 'allowBuilds:\n  lmdb: false\n  msgpackr-extract: false\n'];
  writeFileSync(join(directory, 'pnpm-workspace.yaml'), [...settings, 'overrides:\n', ...overrides].join(''));
  command('npx', ['-y', 'pnpm@12', 'install', '--prefer-offline', '--no-frozen-lockfile'], { cwd: directory });
  return directory;
}

/** A folder of the project with the applications in it, of the given module type. */
export function application(project, name, type, types) {
  const directory = join(project, name);
  cpSync(join(root, 'scripts/test/fixtures/consumers'), directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ private: true, type }));
  mkdirSync(join(directory, 'node_modules/@types'), { recursive: true });
  symlinkSync(types, join(directory, 'node_modules/@types/node'));
  return directory;
}

function emptyProject(directory, manifest) {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'empty', private: true, ...manifest }));
}
