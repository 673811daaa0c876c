// The packages of the workspace as a bundler resolves them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageFolders } from '../package-folders.mjs';

/** @typedef {{ name: string, directory: string, manifest: any }} Member */

/** @returns {Map<string, Member>} by name */
export function readMembers(root) {
  const folders = packageFolders(root).map((folder) => join(root, 'packages', folder));
  const members = folders.map((directory) => {
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return { name: manifest.name, directory, manifest };
  });
  return new Map(members.map((member) => [member.name, member]));
}

/** `@scope/name/sub` as the package and what its `exports` says of it; undefined for what is not of the workspace. */
export function exportOf(members, specifier, condition) {
  const name = specifier.split('/').slice(0, 2).join('/');
  const member = members.get(name);
  if (member === undefined) return undefined;
  const subpath = `.${specifier.slice(name.length)}`;
  const target = member.manifest.exports?.[subpath]?.[condition];
  if (target === undefined) throw new Error(`${specifier}: ${name} exports no "${subpath}" for ${condition}`);
  return join(member.directory, target);
}
