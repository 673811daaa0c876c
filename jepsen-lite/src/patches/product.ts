/** Where the built files of the product are. */

import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

import type { Edit, Patch } from './patch.ts';

const { resolve } = createRequire(import.meta.url);

/** The URL under which a running program loads a built file of the package, this one or one that it depends on. */
export function builtFile(module: string, file: string): URL {
  // The entry is in dist, or, for tests, in src.
  // Programs load a package by where it is; a process with a module loader of its own may resolve it to the link that leads there.
  return new URL(`../dist/${file}`, pathToFileURL(realpathSync(resolve(module))));
}

/** Edits by the URL of the file that they change: what the load hooks work by. */
export type EditsByUrl = Readonly<Record<string, readonly Edit[]>>;

export function editsByUrl({ patches }: { readonly patches: readonly Patch[] }): EditsByUrl {
  return Object.fromEntries(patches.map(({ module, file, edits }) => [builtFile(module, file).href, edits]));
}
