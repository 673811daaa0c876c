import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import type { Mutant } from '../../src/mutants/mutant.ts';
import { nearestTests, runUnitTests } from '../../src/mutants/random/unit-tests.ts';
import { runMutants } from '../../src/mutants/run-mutants.ts';

const run = promisify(execFile);
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

function mutant(find: string, replace: string, file = 'core/quorum/quorum.js'): Mutant {
  const patches = [{ module: '@holdfast/raft', file, edits: [{ find, replace }] } as const];
  return { name: 'planted', breaks: 'a promise', patches, caughtBy: ['churn'] };
}

async function judge(planted: Mutant): Promise<Awaited<ReturnType<typeof runMutants>>> {
  return await runMutants({ catalogue: [planted], budgetSeeds: 12, rangeStarts: [1] });
}

describe('a bug that is planted in the built product', () => {
  it('is caught, and the product itself passes the same seeds', async () => {
    const report = await judge(mutant('Math.floor(voters / 2) + 1', 'Math.floor(voters / 2)'));
    expect(report.results[0]?.findings[0]?.hunts[0]).toMatchObject({ broken: undefined, caught: { kind: 'promise' } });
    expect(report.controls).toMatchObject([{ detector: 'churn', seeds: 1, passed: true }]);
    expect(report.ok).toBe(true);
  });

  it('survives when it breaks nothing', async () => {
    const report = await judge(mutant('Math.floor(voters / 2) + 1', '1 + Math.floor(voters / 2)'));
    expect(report.results[0]?.verdict).toBe('survived');
    expect(report.ok).toBe(false);
  });

  it.each([
    ['is no program any more', mutant('Math.floor(voters / 2) + 1', '(('), 'does not load'],
    ['throws at every turn', mutant('Math.floor(voters / 2) + 1', 'nothing.at.all'), 'ReferenceError'],
    ['is no longer what the mutant expects', mutant('Math.ceil(voters)', '1'), 'does not occur'],
    ['is not even loaded', mutant("'", "'", 'core/nothing.js'), 'never loaded'],
  ])('is no catch when the product %s', async (_, planted, reason) => {
    const report = await judge(planted);
    expect(report.results[0]?.verdict).toBe('broken');
    expect(report.results[0]?.findings[0]?.hunts[0]?.broken).toContain(reason);
    expect(report.ok).toBe(false);
  });
});

describe('the fast tests as what looks for a bug', () => {
  const quorum = { module: '@holdfast/raft', file: 'core/quorum/quorum.js' } as const;
  const paths = [
    'packages/raft/test/core/election/elections.test.ts',
    'packages/raft/test/core/replication/commit.test.ts',
  ];

  it('fail when one is planted, and say which test did', async () => {
    const edits = [{ find: 'Math.floor(voters / 2) + 1', replace: 'Math.floor(voters / 2)' }];
    const { failed } = await runUnitTests(paths, [{ ...quorum, edits }], 100_000);
    expect(failed).toMatch(/^packages\/raft\/test\/core\/(election\/elections|replication\/commit)\.test\.ts: ./);
  });

  it('pass over the built form as it is', async () => {
    expect((await runUnitTests(paths, [{ ...quorum, edits: [] }], 100_000)).failed).toBeUndefined();
  });

  it('are ended when they take too long', async () => {
    expect((await runUnitTests(paths, [{ ...quorum, edits: [] }], 1)).failed).toBe('took over 1 ms');
  });

  it('begin with those that have the name of the changed file', () => {
    expect(nearestTests(['packages/raft/test/core'], { ...quorum, file: 'core/reads/reads.js' })).toEqual([
      'packages/raft/test/core/reads/reads.test.ts',
    ]);
  });
});

describe('jepsen mutants', () => {
  it('prints what caught a mutant', async () => {
    const { stdout } = await run(process.execPath, [main, 'mutants', '--only', 'figure-8', '--ranges', '1']);
    expect(stdout).toMatch(/^figure-8 +churn +leader-completeness/m);
    expect(stdout).toContain('mutants: 1 of 1 caught; passed');
  });

  it('fails when one survives, as this one does a single seed', async () => {
    const args = [
      main,
      'mutants',
      '--only',
      'leader-counts-itself-before-durable-write',
      '--ranges',
      '1',
      '--seeds',
      '1',
      '--json',
    ];
    const failure: unknown = await run(process.execPath, args).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 1 });
    expect(JSON.parse((failure as { stdout: string }).stdout)).toMatchObject({
      ok: false,
      mutants: [{ verdict: 'survived' }],
    });
  });
});
