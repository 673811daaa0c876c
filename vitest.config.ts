import { defineConfig } from 'vitest/config';

// Tests import the sources of every package, not what was last built; end-to-end tests start the built programs.
const conditions = ['holdfast-src', 'node', 'import', 'default'];
const excluded = ['**/dist/**', '**/node_modules/**', '**/fixtures/**'];
const endToEnd = '{packages/*,jepsen-lite,bench}/test/e2e/**/*.test.ts';

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    allowOnly: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          // Nothing under test has state of its module: a fresh registry for each file would only cost time.
          isolate: false,
          include: ['{packages/*,jepsen-lite,bench}/test/**/*.test.ts', 'scripts/test/**/*.test.ts'],
          exclude: [...excluded, endToEnd],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: [endToEnd],
          exclude: excluded,
          globalSetup: ['scripts/runner/build.mjs'],
          // Every file starts processes of its own; two cores serve one ensemble at a time.
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
