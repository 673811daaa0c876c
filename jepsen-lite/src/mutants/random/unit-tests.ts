/**
 * The fast tests of a checkout as a detector: vitest runs them with one source module replaced by its changed built form. They have no
 * part in the harness as a package, so this works in a checkout of the repository only.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { applyEdits, type Edit } from '../../patches/patch.ts';
import { builtFile } from '../../patches/product.ts';

/** Read by the vitest configuration: a JSON object, paths of sources to paths of what is loaded in their place. */
const CHANGED_SOURCES = 'HOLDFAST_CHANGED_SOURCES';

export interface ChangedFile {
  readonly module: string;
  /** Within its built files. */
  readonly file: string;
  /** None: the built form as it is. */
  readonly edits: readonly Edit[];
}

/** Test files under the paths that have the name of the changed file, or import its source themselves: they notice most, in a second. */
export function nearestTests(
  paths: readonly string[],
  { module, file }: Pick<ChangedFile, 'module' | 'file'>,
): string[] {
  const root = checkout();
  const source = sourceOf({ module, file });
  return paths
    .flatMap((path) => testFilesUnder(join(root, path)))
    .filter((test) => basename(test).startsWith(basename(source, '.ts')) || importedBy(test).includes(source))
    .map((test) => relative(root, test));
}

function testFilesUnder(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.test.ts') && !name.split(sep).some((part) => part === 'e2e' || part === 'fixtures'),
    )
    .map((name) => join(path, name));
}

function importedBy(test: string): string[] {
  const imports = readFileSync(test, 'utf8').matchAll(/from '(\.[^']+)'/g);
  return [...imports].map(([, specifier = '']) => join(dirname(test), specifier));
}

export interface TestRun {
  /** The first test that failed, or what else went wrong; undefined when all passed. */
  readonly failed: string | undefined;
  readonly wallMs: number;
}

/** Ends at the first test that fails, and when it takes longer than `limitMs`, which counts as a failure. */
export async function runUnitTests(
  paths: readonly string[],
  changed: readonly ChangedFile[],
  limitMs: number,
): Promise<TestRun> {
  const root = checkout();
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  const startedMs = performance.now();
  try {
    const sources = changed.map((file, number) => {
      const path = join(directory, `changed-${number}.js`);
      writeFileSync(path, asSource(file));
      return [sourceOf(file), path] as const;
    });
    const env = { ...process.env, [CHANGED_SOURCES]: JSON.stringify(Object.fromEntries(sources)) };
    const report = join(directory, 'report.json');
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--project', 'fast', '--reporter', 'json', '--outputFile', report, ...paths];
    let ended = await runProgram([...args, '--bail', '1'], { cwd: root, env, limitMs });
    let failed = ended === 0 ? undefined : firstFailure(report);
    // Now and then a run that ends with its first failure forgets to report that.
    if (failed === NO_TEST && ended !== 'late') {
      ended = await runProgram(args, { cwd: root, env, limitMs });
      failed = ended === 0 ? undefined : firstFailure(report);
    }
    if (ended === 'late') failed = `took over ${limitMs} ms`;
    return { failed, wallMs: performance.now() - startedMs };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Where the repository is checked out. @throws Error when this is not a part of it */
function checkout(): string {
  for (let directory = fileURLToPath(new URL('.', import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'vitest.config.ts'))) return directory;
    if (directory === dirname(directory)) {
      throw new Error('the unit tests run in a checkout of the repository only; this is none');
    }
  }
}

function sourceOf({ module, file }: Pick<ChangedFile, 'module' | 'file'>): string {
  return fileURLToPath(new URL(`../src/${file.replace(/\.js$/, '.ts')}`, builtFile(module, '.')));
}

/** The changed text with the imports of a source. */
function asSource({ module, file, edits }: ChangedFile): string {
  const text = readFileSync(builtFile(module, file), 'utf8');
  const changed = edits.length === 0 ? text : applyEdits(text, edits, file);
  return changed
    .replaceAll(/((?:from|import)\s*\(?\s*')(\.{1,2}\/[^']+)\.js'/g, "$1$2.ts'")
    .replace(/\n\/\/# sourceMappingURL=.*/, '');
}

interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limitMs: number;
}

/** Ends with its whole group: workers that a mutant has made to spin must not stay. */
function runProgram(args: readonly string[], { cwd, env, limitMs }: ProgramOptions): Promise<number | 'late'> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore', detached: true });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve(late ? 'late' : (code ?? 1));
    });
  });
}

const NO_TEST = 'an error outside of any test';

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function firstFailure(report: string): string {
  if (!existsSync(report)) return 'the run ended without a report';
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as VitestReport;
  for (const { name, assertionResults } of testResults) {
    const test = assertionResults.find(({ status }) => status === 'failed');
    if (test !== undefined) return `${shortName(name)}: ${test.fullName}`;
  }
  const broken = testResults.find(({ message }) => message !== '');
  return broken === undefined ? NO_TEST : `${shortName(broken.name)}: ${broken.message.split('\n')[0]}`;
}

function shortName(path: string): string {
  return path.replace(/^.*\/(packages|jepsen-lite)\//, '$1/');
}
