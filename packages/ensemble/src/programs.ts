/** The built entries of the programs that are started as child processes, found through their packages. */

import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { EnsembleError } from './ensemble-error.ts';

const require = createRequire(import.meta.url);

const resolvers = {
  lockd: () => beside(require.resolve('@holdfast/lockd'), 'main.js'),
  'fenced-kvd': () => beside(require.resolve('@holdfast/fenced-kv'), 'main.js'),
  guard: () => beside(require.resolve('@holdfast/ensemble'), 'guard/main.js'),
  'demo worker': () => beside(require.resolve('@holdfast/ensemble'), 'demo/worker/main.js'),
};

export type Program = keyof typeof resolvers;

/** @throws EnsembleError NOT_BUILT */
export function programEntry(program: Program): string {
  let entry: string | undefined;
  try {
    entry = resolvers[program]();
  } catch {
    // Node refuses to resolve a package whose entry does not exist yet.
  }
  if (entry === undefined || !existsSync(entry)) {
    throw new EnsembleError('NOT_BUILT', `${program} has not been built; run: npx -y pnpm@12 build`);
  }
  return entry;
}

/**
 * The same program in one file, which starts in half the time, where one was made that is as new as all that was built. Otherwise, and in a
 * package from npm, what {@link programEntry} says. Whoever changes files of a program while it loads them needs that one.
 * @throws EnsembleError NOT_BUILT
 */
export function bundledEntry(program: Program): string {
  return freshBundle(programEntry(program));
}

/** @param link the main file of a program in `packages/NAME/dist`, or what leads there */
export function freshBundle(link: string): string {
  const entry = realpathSync(link);
  const bundle = join(dirname(entry), 'bundle', 'main.js');
  return changedMs(bundle) > lastBuiltMs(join(dirname(entry), '..', '..')) ? bundle : entry;
}

function lastBuiltMs(packages: string): number {
  return Math.max(...readdirSync(packages).map((name) => changedMs(join(packages, name, 'dist', '.tsbuildinfo'))));
}

/** 0 when there is no such file. */
function changedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function beside(index: string, file: string): string {
  // Where tests run from the sources the entry that is found is theirs; what is started is always what was built.
  return join(dirname(index), '..', 'dist', file);
}
