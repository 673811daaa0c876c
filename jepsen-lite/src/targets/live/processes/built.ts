/** Built files of this package, wherever it runs from: a process of its own loads no sources. */

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** @param file below `targets/live`, as it is named in the sources, but for its ending */
export function builtLiveFile(file: `${string}.js`): URL {
  const entry = createRequire(import.meta.url).resolve('@holdfast/jepsen-lite');
  return new URL(`../dist/targets/live/${file}`, pathToFileURL(entry));
}
