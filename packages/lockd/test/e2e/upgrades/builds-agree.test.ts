/** Two builds that may serve one ensemble answer alike, as long as the state version is one that both know. */

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { buildWith, previousBuild, type Edit } from '../support/previous-build.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
const RUNS = '30';
const directories: string[] = [];

afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A program with another kind of lock, which exists from that version on. */
function withKindSince(version: number): Edit {
  const kind = `{ ...mutex, name: 'later', number: 200, since: ${version} }`;
  return { file: 'state/dist/locks/kinds/lock-kinds.js', from: /\[mutex,/, to: `[mutex, ${kind},` };
}

function kept({ directory }: { readonly directory: string }): string {
  directories.push(directory);
  return directory;
}

function compare(old: string, fresh: string): { readonly code: number | null; readonly told: string } {
  const script = join(ROOT, 'scripts', 'compare-builds.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, old, fresh, RUNS], { encoding: 'utf8' });
  return { code: status, told: stdout + stderr };
}

describe('over random entries', () => {
  it('this build and the one before give the same answers, digests and snapshots', () => {
    const { code, told } = compare(kept(previousBuild()), join(ROOT, 'packages'));
    expect(code, told).toBe(0);
    expect(told).toContain(`${RUNS} runs of`);
  }, 60_000);

  it('so does a build with a kind of lock that exists from version 2 on', () => {
    const { code, told } = compare(join(ROOT, 'packages'), kept(buildWith([withKindSince(2)])));
    expect(code, told).toBe(0);
  }, 60_000);

  it('and one that has it from version 1 on is found out', () => {
    const { code, told } = compare(join(ROOT, 'packages'), kept(buildWith([withKindSince(1)])));
    expect(code).toBe(1);
    expect(told).toMatch(/run \d+, entry \d+: .*lock kind 200 is not of state version 1/);
  }, 60_000);
});
