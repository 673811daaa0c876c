// A copy of the workspace's configuration, manifests and tsconfigs in a temporary directory, with a fixture laid over it, so that
// the real rules judge the fixture's files and nothing else.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolders } from '../package-folders.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));

export interface Outcome {
  readonly status: number | null;
  readonly output: string;
}

/** Runs the command (a program of this repository and its arguments) in a scratch workspace under the fixture. */
export function runOnFixture(fixture: string, command: readonly string[]): Outcome {
  return runInScratch(command, (directory) => cpSync(join(fixtures, fixture), directory, { recursive: true }));
}

/** The same with several fixtures of a folder at once: each is one file, which gets the name of its fixture. */
export function runOnFixtures(folder: string, names: readonly string[], command: readonly string[]): Outcome {
  return runInScratch(command, (directory) => {
    for (const name of names) {
      const fixture = join(fixtures, folder, name);
      const [file = '', ...more] = readdirSync(fixture, { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.endsWith('.ts'),
      );
      if (file === '' || more.length > 0) throw new Error(`${fixture} is not one file`);
      const target = join(directory, dirname(file), `${name}.ts`);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(join(fixture, file), target);
    }
  });
}

/** The same with empty files at these paths. */
export function runOnEmptyFiles(paths: readonly string[], command: readonly string[]): Outcome {
  return runInScratch(command, (directory) => {
    for (const path of paths) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), '');
    }
  });
}

function runInScratch([program = '', ...args]: readonly string[], addFiles: (directory: string) => void): Outcome {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-fixture-'));
  try {
    layOut(directory);
    addFiles(directory);
    const result = spawnSync(process.execPath, [join(root, program), ...args], { cwd: directory, encoding: 'utf8' });
    return { status: result.status, output: result.stdout + result.stderr };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The names of the fixtures in a folder; those without a bad file must pass. */
export function fixturesIn(folder: string): string[] {
  return readdirSync(join(fixtures, folder)).toSorted();
}

function layOut(directory: string): void {
  for (const file of ['.oxlintrc.json', 'tsconfig.base.json']) cpSync(join(root, file), join(directory, file));
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  for (const name of packageFolders(root)) {
    for (const file of ['package.json', 'tsconfig.json', 'src/core/tsconfig.json']) {
      const source = join(root, 'packages', name, file);
      if (!existsSync(source)) continue;
      const target = join(directory, 'packages', name, file);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(source, target);
    }
  }
}
