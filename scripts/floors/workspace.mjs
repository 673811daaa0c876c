// The packages of a workspace as the floors see them: manifest, references, and the source and test files.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { packageFolders } from '../package-folders.mjs';

const SINGLE_PACKAGES = ['jepsen-lite', 'bench', 'examples'];
const SKIPPED = new Set(['node_modules', 'dist', 'fixtures']);

export function readWorkspace(root) {
  const folders = packageFolders(root).map((folder) => `packages/${folder}`);
  return [...folders, ...SINGLE_PACKAGES]
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => readPackage(root, folder));
}

function readPackage(root, folder) {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const tsconfig = join(root, folder, 'tsconfig.json');
  const text = existsSync(tsconfig) ? readFileSync(tsconfig, 'utf8') : undefined;
  return {
    folder,
    name: manifest.name,
    dependencies: { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies },
    devDependencies: manifest.devDependencies ?? {},
    exports: manifest.exports ?? {},
    references: text === undefined ? undefined : [...text.matchAll(/"path":\s*"([^"]+)"/g)].map((match) => match[1]),
    files: sourceFiles(root, join(root, folder)),
  };
}

function sourceFiles(root, directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : sourceFiles(root, path);
    return /\.[cm]?[jt]s$/.test(entry.name) ? [{ path: relative(root, path), text: readFileSync(path, 'utf8') }] : [];
  });
}
