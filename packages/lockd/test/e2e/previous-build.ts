/**
 * Builds lockd as it was at an earlier commit, from this clone alone: nothing is fetched. Its dependencies are those that are
 * installed here, if they still have the versions that it wants.
 */

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The last one before data directories, hellos and the state had features or versions. */
const PREVIOUS_COMMIT = '56fd6c83ac6eb7aa1a56acba2185bbb21e01170d';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache', 'holdfast');
/** What lockd is made of. */
const PACKAGES = ['protocol', 'runtime', 'raft', 'state', 'lockd'] as const;
const BUILD_LIMIT_MS = 60_000;

export type PreviousBuild = { readonly main: string } | { readonly problem: string };

/** Kept for the next run. `problem` says why there is none. */
export function previousBuild(): PreviousBuild {
  const directory = join(CACHE, PREVIOUS_COMMIT);
  const main = join(directory, 'packages', 'lockd', 'dist', 'main.js');
  if (existsSync(main)) return { main };
  if (!hasPreviousCommit()) return { problem: `this clone does not have commit ${PREVIOUS_COMMIT}` };
  mkdirSync(CACHE, { recursive: true });
  const scratch = mkdtempSync(join(CACHE, 'building-'));
  try {
    unpack(scratch);
    const missing = PACKAGES.flatMap((name) => linkDependencies(scratch, name));
    if (missing.length > 0) return { problem: `it wants what is not installed here: ${missing.join(', ')}` };
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    run(process.execPath, [compiler, '-b', join(scratch, 'packages', 'lockd')]);
    renameSync(scratch, directory);
    return { main };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export function hasPreviousCommit(): boolean {
  try {
    run('git', ['-C', ROOT, 'cat-file', '-e', `${PREVIOUS_COMMIT}^{commit}`]);
    return true;
  } catch {
    return false;
  }
}

function unpack(directory: string): void {
  const archive = join(directory, 'sources.tar');
  run('git', ['-C', ROOT, 'archive', '--output', archive, PREVIOUS_COMMIT]);
  run('tar', ['-xf', archive, '-C', directory]);
}

/** Those that could not be linked. */
function linkDependencies(directory: string, name: (typeof PACKAGES)[number]): string[] {
  const target = join(directory, 'packages', name, 'node_modules');
  const { dependencies = {}, devDependencies = {} } = packageAt(join(directory, 'packages', name));
  const missing: string[] = [];
  for (const [dependency, wanted] of Object.entries({ ...devDependencies, ...dependencies })) {
    const own = dependency.startsWith('@holdfast/');
    const source = own
      ? join(directory, 'packages', dependency.slice('@holdfast/'.length))
      : join(ROOT, 'packages', name, 'node_modules', dependency);
    if (!existsSync(source) || (!own && packageAt(source).version !== wanted)) {
      missing.push(`${dependency}@${wanted}`);
      continue;
    }
    mkdirSync(dirname(join(target, dependency)), { recursive: true });
    symlinkSync(
      own ? join('..', '..', '..', dependency.slice('@holdfast/'.length)) : realpathSync(source),
      join(target, dependency),
    );
  }
  const root = join(directory, 'node_modules');
  if (!existsSync(root)) linkAll(join(ROOT, 'node_modules'), root);
  return missing;
}

/** The compiler's types; the packages' own links come first. */
function linkAll(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from))
    if (!name.startsWith('.')) symlinkSync(realpathSync(join(from, name)), join(to, name));
}

interface PackageFile {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function packageAt(directory: string): PackageFile {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as PackageFile;
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: BUILD_LIMIT_MS });
}
