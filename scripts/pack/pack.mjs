// Public packages, from sources and what tsc has built to tarballs.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

import { bundle, entryOf, writeBundle, writeCommonJsWrapper, writeEsmWrapper } from './bundle.mjs';
import { writeDeclarations } from './declarations.mjs';
import { publishedManifest } from './manifest.mjs';
import { nameOf, PUBLIC_PACKAGES } from './packages.mjs';
import { exportOf, readMembers } from './workspace.mjs';

/** @returns {Promise<{ name: string, directory: string, tarball: string, bytes: number }[]>} */
export async function pack(root, out, names) {
  const members = readMembers(root);
  const packed = [];
  const asked = PUBLIC_PACKAGES.filter((each) => names.includes(nameOf(each)));
  for (const description of asked) packed.push(await stage({ root, out, members, description }));
  const directories = packed.map(({ directory }) => directory);
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out, ...directories], {
    cwd: out,
  });
  return packed.map((each) => ({ ...each, bytes: statSync(each.tarball).size }));
}

async function stage({ root, out, members, description }) {
  const { kind, peers = [], threads = [] } = description;
  const member = members.get(`@holdfast/${nameOf(description)}`);
  const directory = join(out, nameOf(description));
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, 'dist'), { recursive: true });
  const place = {
    members,
    member,
    directory,
    peers,
    threads,
    shippedAt: (source) => join(directory, 'src', shippedPath(root, source)),
  };
  const { imports, sources, entries } = kind === 'library' ? await stageLibrary(place) : await stageProgram(place);
  for (const source of new Set(sources)) copy(source, place.shippedAt(source));
  copy(join(root, 'LICENSE'), join(directory, 'LICENSE'));
  copy(join(root, 'CHANGELOG.md'), join(directory, 'CHANGELOG.md'));
  copy(join(member.directory, 'npm/README.md'), join(directory, 'README.md'));
  const manifest = publishedManifest({ member, description, imports, members, entries });
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const tarball = join(out, `${manifest.name.slice(1).replace('/', '-')}-${manifest.version}.tgz`);
  return { name: manifest.name, directory, tarball };
}

async function stageLibrary({ members, member, directory, peers, threads, shippedAt }) {
  const code = join(directory, 'dist/code.js');
  const main = join(directory, 'dist/index.js');
  const module = join(directory, 'dist/index.mjs');
  const moduleTypes = join(directory, 'dist/index.d.mts');
  const built = await bundle({ members, entry: entryOf(member, 'library'), file: code, format: 'cjs', peers });
  writeBundle(code, built, shippedAt);
  writeCommonJsWrapper(main, code, built.exports);
  writeEsmWrapper(module, main, built.exports);
  const beside = [];
  for (const thread of threads) {
    const file = join(directory, 'dist', basename(thread).replace(/\.ts$/, '.js'));
    const ran = await bundle({ members, entry: join(member.directory, thread), file, format: 'cjs', peers });
    writeBundle(file, ran, shippedAt);
    beside.push(ran);
  }
  const types = writeDeclarations({
    members,
    entry: exportOf(members, member.name, 'types'),
    directory: join(directory, 'dist/types'),
    peers,
    shippedAt,
  });
  const from = (file) => `./${relative(directory, file)}`;
  writeFileSync(
    moduleTypes,
    `export * from '${from(types.entry)
      .replace('./dist', '.')
      .replace(/\.d\.ts$/, '.js')}';\n`,
  );
  return {
    imports: [...built.imports, ...beside.flatMap(({ imports }) => imports), ...types.imports],
    sources: [...built.sources, ...beside.flatMap(({ sources }) => sources), ...types.sources],
    entries: { main: from(main), module: from(module), types: from(types.entry), moduleTypes: from(moduleTypes) },
  };
}

async function stageProgram({ members, member, directory, peers, shippedAt }) {
  const main = join(directory, 'dist/main.js');
  const built = await bundle({ members, entry: entryOf(member, 'program'), file: main, format: 'es', peers });
  writeBundle(main, built, shippedAt);
  return { imports: built.imports, sources: built.sources, entries: { main: './dist/main.js' } };
}

/** `packages/client/src/locks/lock.ts` is shipped as `client/locks/lock.ts`. */
function shippedPath(root, source) {
  const [, folder, inside] = /^packages\/([\w-]+(?:\/[\w-]+)?)\/src\/(.+)$/.exec(relative(root, source)) ?? [];
  if (inside === undefined) throw new Error(`${source} is not a source of the workspace`);
  return join(folder, inside);
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
