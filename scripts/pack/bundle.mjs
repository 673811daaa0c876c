// The JavaScript of a package: its own sources and those of the workspace that it uses, in one file with a source map.

import { writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

import { importsOf } from '../floors/imports.mjs';
import { exportOf } from './workspace.mjs';

const TARGET = 'node20.19';

/**
 * @param {{ members: Map, entry: string, file: string, format: 'cjs' | 'es', peers: readonly string[] }} options
 * `entry`: a source file; `peers`: packages of the workspace that are not bundled
 * @returns {Promise<{ exports: string[], imports: string[], sources: string[] }>} `imports`: what is left to be installed; `sources`:
 * the files that the source map names, as absolute paths
 */
export async function bundle({ members, entry, file, format, peers }) {
  const isPeer = (specifier) => peers.includes(specifier);
  const build = await rolldown({
    input: entry,
    platform: 'node',
    transform: { target: TARGET },
    external: (specifier) => isPeer(specifier) || (isBare(specifier) && exportIn(members, specifier) === undefined),
    plugins: [
      { name: 'workspace', resolveId: (specifier) => (isPeer(specifier) ? null : exportIn(members, specifier)) },
    ],
    // Libraries that only unused code imports are not to be installed: importing them has no effect of its own.
    treeshake: { moduleSideEffects: (_id, external) => !external },
  });
  const { output } = await build.generate({
    format,
    exports: format === 'cjs' ? 'named' : 'auto',
    sourcemap: true,
    file,
  });
  await build.close();
  const [chunk, ...more] = output.filter(({ type }) => type === 'chunk');
  if (more.length > 0)
    throw new Error(`${entry} became ${more.length + 1} files; a program loads everything at its start`);
  const { map, code } = chunk;
  // Not what the bundler says: that has what was left out since nothing uses it.
  const imports = importsOf(file, code).map(({ specifier }) => specifier);
  const sources = map.sources.map((source) => resolve(dirname(file), source));
  return { code, map, exports: chunk.exports.toSorted(), imports, sources };
}

/**
 * Writes a bundle beside a map that names the sources where the package has them, and does not repeat their text.
 *
 * @param {(source: string) => string} shippedAt
 */
export function writeBundle(file, { code, map, sources }, shippedAt) {
  const shipped = sources.map((source) => relative(dirname(file), shippedAt(source)));
  const { version, names, mappings } = map;
  writeFileSync(file, code);
  writeFileSync(
    `${file}.map`,
    JSON.stringify({ version, file: relative(dirname(file), file), sources: shipped, names, mappings }),
  );
}

/**
 * Names over the code, which is a file of its own: Node.js reads all of a CommonJS file that is imported for the names that it exports, which of
 * a megabyte takes longer than running it. Each assignment is one that it can read.
 */
export function writeCommonJsWrapper(file, target, names) {
  const from = `./${relative(dirname(file), target)}`;
  const exported = names.map((name) => `exports.${name} = code.${name};\n`).join('');
  writeFileSync(file, `'use strict';\nconst code = require('${from}');\n${exported}`);
}

/** CommonJS has one copy of every class and every registry; the ES module is a list of names over it. */
export function writeEsmWrapper(file, target, names) {
  const from = `./${relative(dirname(file), target)}`;
  writeFileSync(file, `export {\n${names.map((name) => `  ${name},\n`).join('')}} from '${from}';\n`);
}

function exportIn(members, specifier) {
  return isBare(specifier) ? exportOf(members, specifier, 'holdfast-src') : undefined;
}

function isBare(specifier) {
  return !specifier.startsWith('.') && !specifier.startsWith('/');
}

export const entryOf = (member, kind) => join(member.directory, kind === 'library' ? 'src/index.ts' : 'src/main.ts');
