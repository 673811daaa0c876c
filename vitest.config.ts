import { availableParallelism } from 'node:os';

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { changedSources } from './scripts/runner/changed-sources.ts';
import { SlowestFirst } from './scripts/runner/slowest-first.ts';

// Tests import the sources of every package, not what was last built; end-to-end tests start the built programs.
const conditions = ['holdfast-src', 'node'];
const excluded = ['**/dist/**', '**/node_modules/**', '**/fixtures/**'];
const endToEnd = '{packages/*,packages/fences/*,jepsen-lite,bench,scripts}/test/e2e/**/*.test.ts';
// What they judge is how a server shares its processor, what it allocates, or how fast something is, so nothing else runs beside them.
const alone = [
  'bench/test/e2e/count.test.ts',
  'packages/ensemble/test/e2e/rolling-restart.test.ts',
  'packages/lockd/test/e2e/{batching,greed,hostile-input,http}.test.ts',
];
// Clients have to come to something within seconds of faults, which they mostly wait for: each has a processor, and nothing else runs.
const paced = ['jepsen-lite/test/e2e/{live,live-planted}.test.ts', 'jepsen-lite/test/e2e/live/replicas.test.ts'];
// Too long for every commit: they repeat, on real processes and for a minute each, what quicker tests and the simulation show of the parts.
const long = [
  'bench/test/e2e/{join,watches}.test.ts',
  'jepsen-lite/test/e2e/{live-links,live-versions}.test.ts',
  'jepsen-lite/test/e2e/live/{hangs,resets}.test.ts',
  'packages/lockd/test/e2e/remembered-answers.test.ts',
];
const WORKERS = availableParallelism();

export default defineConfig({
  plugins: [changedSources()],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    allowOnly: false,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          // Nothing under test has state of its module: a fresh registry for each file would only cost time.
          isolate: false,
          include: ['{packages/*,packages/fences/*,jepsen-lite,bench}/test/**/*.test.ts', 'scripts/test/**/*.test.ts'],
          exclude: [...excluded, endToEnd],
          maxWorkers: WORKERS,
          // For what hangs. Some take ten seconds of a processor, which a busy machine may make a minute.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      // They wait for timeouts, faults and starts more than they compute: two processors are busy for half the time with two at a time.
      endToEndProject('e2e', {
        include: [endToEnd],
        exclude: [...excluded, ...alone, ...paced, ...long],
        maxWorkers: WORKERS + 2,
      }),
      endToEndProject('e2e-paced', { include: paced, exclude: excluded, maxWorkers: WORKERS }),
      endToEndProject('e2e-long', { include: long, exclude: excluded, maxWorkers: WORKERS + 1 }),
      endToEndProject('e2e-alone', { include: alone, exclude: excluded, fileParallelism: false }),
    ],
  },
});

/** Every file starts processes of its own: what it tests is in those, and the modules of the tests need loading once for a worker. */
function endToEndProject(
  name: string,
  options: NonNullable<TestProjectInlineConfiguration['test']>,
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      isolate: false,
      ...options,
      globalSetup: ['scripts/runner/build.mjs'],
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  };
}
