// Programs that are started often, each in one file beside what tsc has built: to load some 550 files takes longer than all else that a
// start of lockd does. Who starts one takes the bundle where it is as new as what was built, and what was built otherwise.

import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

import { packageFolders } from './package-folders.mjs';

const PROGRAMS = ['lockd', 'lockctl', 'fenced-kv'];

/** @param {string} root of the workspace, built */
export async function bundlePrograms(root) {
  const packages = join(root, 'packages');
  const builtMs = Math.max(...packageFolders(root).map((name) => changedMs(join(packages, name, 'dist/.tsbuildinfo'))));
  for (const program of PROGRAMS) {
    const file = join(packages, program, 'dist/bundle/main.js');
    if (changedMs(file) >= builtMs) continue;
    // lmdb looks for what is compiled of it beside itself.
    const bundle = await rolldown({
      input: join(packages, program, 'dist/main.js'),
      platform: 'node',
      external: ['lmdb'],
    });
    // No source map: reading it takes a quarter of a start, and names and lines in an unminified file say enough.
    await bundle.write({ file, format: 'es', codeSplitting: false });
    await bundle.close();
  }
}

function changedMs(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0;
}

if (pathToFileURL(process.argv[1] ?? '').href === import.meta.url) {
  await bundlePrograms(dirname(dirname(fileURLToPath(import.meta.url))));
}
