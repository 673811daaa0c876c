import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startScratchEnsemble } from './scratch-ensemble.ts';

const root = resolve(import.meta.dirname, '../../../..');

const run = promisify(execFile);

/** The README's first JavaScript example, at the ports of the running ensemble. */
function readmeExample(basePort: number): string {
  const example = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1];
  if (example === undefined) throw new Error('the README has no JavaScript example');
  return example.replaceAll(
    /127\.0\.0\.1:7(\d{3})/g,
    (_, port: string) => `127.0.0.1:${basePort - 100 + Number(port)}`,
  );
}

describe('the packed client', () => {
  let project: string;
  let stop: () => Promise<void>;
  let basePort: number;

  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), 'holdfast-packed-'));
    ({ stop, basePort } = await startScratchEnsemble({ fencedKv: true }));
  });

  afterAll(async () => {
    await stop?.();
    rmSync(project, { recursive: true, force: true });
  });

  it('installs with npm into an empty project and runs the README example', { timeout: 180_000 }, async () => {
    const tarballs = join(project, 'tarballs');
    await run(process.execPath, [join(root, 'scripts/pack.mjs'), '--out', tarballs, 'client']);
    const [tarball = '', ...others] = readdirSync(tarballs).filter((file) => file.endsWith('.tgz'));
    expect(others).toEqual([]);

    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', private: true }));
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', join(tarballs, tarball)];
    const { stderr } = await run('npm', install, { cwd: project });
    expect(stderr).toBe('');
    const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
    };
    expect(Object.keys(packages)).toEqual(['', 'node_modules/@holdfast/client', 'node_modules/ws']);
    expect(Object.values(packages).filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
    writeFileSync(join(project, 'example.mjs'), readmeExample(basePort));

    const { stdout } = await run(process.execPath, ['example.mjs'], { cwd: project });
    expect(stdout).toMatch(/^token \d+: the store answered 204\n$/);
  });
});
