// Builds the packages as they are installed: bundles, declarations, sources and manifests in DIR/<name>, and a tarball of each in DIR.
// Usage: node scripts/pack.mjs [--out DIR] [NAME...]     (build first; DIR is dist/packages, and NAME every one, unless told)

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { pack } from './pack/pack.mjs';
import { nameOf, PUBLIC_PACKAGES } from './pack/packages.mjs';
import { root } from './runner/tool.mjs';

const USAGE = 'usage: npx -y pnpm@12 pack-packages [--out DIR] [NAME...]';

function readArguments() {
  const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
  const known = PUBLIC_PACKAGES.map(nameOf);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no public package ${unknown.join(', ')}; there are ${known.join(', ')}`);
  return {
    out: resolve(values.out ?? resolve(root, 'dist/packages')),
    names: positionals.length > 0 ? positionals : known,
  };
}

function asked() {
  try {
    return readArguments();
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

const { out, names } = asked();
for (const { name, tarball, bytes } of await pack(root, out, names)) {
  console.log(`${name}: ${tarball} (${Math.ceil(bytes / 1024)} KiB)`);
}
