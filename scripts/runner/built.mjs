// Whether what is built is what the sources say. The compiler knows better and takes a second to say so; times of files are enough to
// find that nothing has changed.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { root, tool } from './tool.mjs';

/** Written when a compilation has succeeded, with the time at which it began. */
const STAMP = join('node_modules', '.cache', 'holdfast-built');
const SKIPPED = new Set(['node_modules', 'dist', 'test', 'docs', 'npm']);
const INPUT = /\.ts$|^tsconfig.*\.json$|^package\.json$/;

/**
 * Compiles if `entry` is missing or any source is newer than the last compilation. What the compiler complains of goes to standard error.
 *
 * @returns {boolean} false: it did not compile
 */
export function ensureBuilt(entry, directory = root, compile = compileAll) {
  const stamp = join(directory, STAMP);
  if (existsSync(entry) && newestInput(directory) <= timeOf(stamp)) return true;
  const startedAt = new Date();
  if (!compile(directory)) return false;
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, startedAt.toISOString());
  return true;
}

function compileAll(directory) {
  const [program, ...args] = tool('typescript', 'tsc');
  // What programs print on standard output is for whoever reads them.
  const { status } = spawnSync(program, [...args, '-b'], { cwd: directory, stdio: ['ignore', 2, 2] });
  return status === 0;
}

function timeOf(stamp) {
  try {
    return Date.parse(readFileSync(stamp, 'utf8'));
  } catch {
    return -Infinity;
  }
}

/** Of the sources and manifests, and of their folders, which tell of what was removed. */
function newestInput(directory) {
  let newest = statSync(directory).mtimeMs;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name) && !entry.name.startsWith('.')) newest = Math.max(newest, newestInput(path));
    } else if (INPUT.test(entry.name)) newest = Math.max(newest, statSync(path).mtimeMs);
  }
  return newest;
}
