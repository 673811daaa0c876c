// Where the tools of the repository are, started by this Node.js without pnpm, so that scripts work under any version of it.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

/** The command line that starts `bin` of a package which the root declares. */
export function tool(packageName, bin = packageName) {
  const manifestPath = findManifest(packageName);
  const manifest = JSON.parse(readFileSync(manifestPath, 'utf8'));
  const entry = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[bin];
  return [process.execPath, join(dirname(manifestPath), entry)];
}

function findManifest(packageName) {
  for (const directory of require.resolve.paths(packageName)) {
    const path = join(directory, packageName, 'package.json');
    try {
      readFileSync(path);
      return path;
    } catch {
      // Looked for further up.
    }
  }
  throw new Error(`${packageName} is not installed; run: npx -y pnpm@12 install`);
}
