/**
 * A lockd that does not know the last state version: a copy of this build without what that version brought. Before the first release
 * formats may change between commits without a word, so no earlier commit is a version before; what upgrades rest on is tried all the
 * same.
 */

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache', 'holdfast');
/** What lockd is made of. */
const PACKAGES = ['protocol', 'runtime', 'raft', 'state', 'lockd'] as const;

export interface Edit {
  readonly file: string;
  readonly from: RegExp;
  readonly to: string;
}

/** As the harness declares it. It is on a floor above, so that only what was built of it can be read here. */
interface OlderPatch {
  readonly module: `@holdfast/${string}`;
  readonly file: string;
  readonly edits: readonly { readonly find: string; readonly replace: string }[];
}

const PATCHES = new URL('../../../../../jepsen-lite/dist/targets/live/versions/older-patches.js', import.meta.url);
const { OLDER_PATCHES } = (await import(PATCHES.href)) as { readonly OLDER_PATCHES: readonly OlderPatch[] };

const OMITTED: readonly Edit[] = OLDER_PATCHES.flatMap(({ module, file, edits }) =>
  edits.map(({ find, replace }) => ({
    file: `${module.replace('@holdfast/', '')}/dist/${file}`,
    from: new RegExp(find.replaceAll(/[*.]/g, String.raw`\$&`)),
    to: replace,
  })),
);

/** Its main file, in a directory of its own, which the caller removes. */
export function previousBuild(): { readonly main: string; readonly directory: string } {
  return buildWith(OMITTED);
}

/** This build with other text in some of its files; as {@link previousBuild}. */
export function buildWith(edits: readonly Edit[]): { readonly main: string; readonly directory: string } {
  mkdirSync(CACHE, { recursive: true });
  const directory = mkdtempSync(join(CACHE, 'previous-'));
  for (const name of PACKAGES) copyPackage(directory, name);
  for (const { file, from, to } of edits) {
    const path = join(directory, file);
    const text = readFileSync(path, 'utf8');
    if (!from.test(text)) throw new Error(`${file} has nothing like ${from}: say what the version before has there`);
    writeFileSync(path, text.replace(from, to));
  }
  return { main: join(directory, 'lockd', 'dist', 'main.js'), directory };
}

function copyPackage(directory: string, name: (typeof PACKAGES)[number]): void {
  const source = join(ROOT, 'packages', name);
  const target = join(directory, name);
  cpSync(join(source, 'dist'), join(target, 'dist'), { recursive: true });
  cpSync(join(source, 'package.json'), join(target, 'package.json'));
  const modules = join(source, 'node_modules');
  const own = join('node_modules', '@holdfast');
  mkdirSync(join(target, own), { recursive: true });
  for (const dependency of readdirSync(modules)) {
    if (dependency.startsWith('.') || dependency === '@holdfast') continue;
    symlinkSync(realpathSync(join(modules, dependency)), join(target, 'node_modules', dependency));
  }
  for (const other of PACKAGES) if (other !== name) symlinkSync(join(directory, other), join(target, own, other));
}
