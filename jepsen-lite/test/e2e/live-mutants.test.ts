import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { liveMutantsProblem } from '../../src/mutants/live/run-live-mutants.ts';

const PROGRAM = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** One of each kind that is caught within seconds. */
const SAMPLE = [
  'append-without-o-dsync',
  'kernel-sync-error-swallowed',
  'dead-holder-keeps-the-directory',
  'fence-removed',
];

const problem = await liveMutantsProblem();
if (problem !== undefined) process.stderr.write(`live-mutants.test.ts is skipped: ${problem}\n`);
const unless = problem === undefined ? '' : ` (skipped: ${problem})`;

describe.skipIf(problem !== undefined)(`bugs that only real processes and disks show${unless}`, () => {
  it('are noticed, and nothing is in the product itself', () => {
    const args = ['mutants', '--live', '--ranges', '1', '--only', ...SAMPLE];
    const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
    expect(stdout, stderr).toMatch(/live mutants: 4 of 4 caught; passed\n$/);
    expect(stdout.match(/^control: .*: nothing found/gm)).toHaveLength(4);
    expect(status).toBe(0);
  });
});
