import { defineConfig } from 'vitest/config';

// Tests import the sources of every package, not what was last built; end-to-end tests start the built programs.
const conditions = ['holdfast-src', 'node', 'import', 'default'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts'],
    exclude: ['**/dist/**', '**/node_modules/**', '**/fixtures/**'],
    testTimeout: 20_000,
  },
});
