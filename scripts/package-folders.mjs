// Where the packages below `packages` are: those of its own, and those of a folder of packages.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Folders of packages. */
const GROUPS = ['fences'];

/** @returns {string[]} `client`, `fences/core`: relative to `packages`, each with a manifest */
export function packageFolders(root) {
  const packages = join(root, 'packages');
  if (!existsSync(packages)) return [];
  const folders = readdirSync(packages).flatMap((name) =>
    GROUPS.includes(name) ? readdirSync(join(packages, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  return folders.filter((folder) => existsSync(join(packages, folder, 'package.json')));
}
