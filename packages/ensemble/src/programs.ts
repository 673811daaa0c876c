/** The built entries of the programs that are started as child processes, found through their packages. */

import { existsSync } from 'node:fs';
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

function beside(index: string, file: string): string {
  // Where tests run from the sources the entry that is found is theirs; what is started is always what was built.
  return join(dirname(index), '..', 'dist', file);
}
