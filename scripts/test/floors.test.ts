import { describe, expect, it } from 'vitest';

import { fixturesIn, runOnEmptyFiles, runOnFixture } from './scratch-workspace.ts';

const floors = (fixture: string) => runOnFixture(`floors/${fixture}`, ['scripts/floors.mjs', '.']);

const refused: Readonly<Record<string, string>> = {
  'upward-import': 'client/src/bad.ts:1: @holdfast/client (floor 1) may not import @holdfast/lockd (floor 2)',
  'dynamic-import': 'client/src/bad.ts:1: @holdfast/client (floor 1) may not import @holdfast/lockd (floor 2)',
  'lazy-import': 'lockd/src/bad.ts:1: loads "./metrics.ts" while it runs; a server loads everything at its start',
  'upward-dependency': 'client/package.json: @holdfast/client (floor 1) may not import @holdfast/lockd (floor 2)',
  'undeclared-package': 'imports "@holdfast/fenced-kv-client", which packages/ensemble/package.json does not declare',
  'undeclared-library': 'imports "msgpackr", which packages/client/package.json does not declare',
  'simulation-in-production': 'production code imports "@holdfast/runtime/sim"; only tests may',
  'test-export-in-production': 'production code imports "@holdfast/state/test/in-use"; only tests may',
  'simulation-inside-runtime': 'production code imports the simulation "./sim/index.ts"; only tests may',
  'circle-of-files':
    'packages/client/src/a.ts: imports itself in a circle: src/a.ts -> src/b.ts -> src/c.ts -> src/a.ts; move what',
  'deep-import': 'imports "@holdfast/protocol/src/pack.ts", which @holdfast/protocol does not export',
  'relative-import-of-another-package': 'imports "../../protocol/src/pack.ts" of another package',
  'folder-imports-a-higher-folder':
    'packages/raft/src/log-store/format may not import recovery/: only lower folders (scripts/floors/table.mjs)',
  'folder-imports-beside-its-floor':
    'packages/raft/src/log-store/segments may not import snapshots/: only lower folders (scripts/floors/table.mjs)',
  'folder-imports-its-index':
    'packages/raft/src/log-store/wal may not import a file of packages/raft/src/log-store itself: only lower folders',
  'folder-without-a-floor': 'packages/raft/src/log-store/attic has no floor; give it one in scripts/floors/table.mjs',
  'part-imports-a-front':
    'lockd/src/requests/bad.ts:1: imports from packages/lockd/src/fronts, which only packages/lockd/src/machine may',
  'core-imports-the-driver':
    'packages/raft/src/core is pure and imports nothing outside itself, but imports "../machine.ts"',
  'core-imports-a-package': 'is pure and imports nothing outside itself, but imports "@holdfast/protocol"',
  'state-imports-node': 'packages/state/src is pure and imports only @holdfast/protocol, but imports "node:buffer"',
  'state-imports-raft': 'packages/state/src is pure and imports only @holdfast/protocol, but imports "@holdfast/raft"',
  'fenced-kv-imports-raft':
    '@holdfast/fenced-kv may not import @holdfast/raft: of the workspace only @holdfast/runtime',
  'package-without-a-floor': '@holdfast/surprise has no floor; give it one in scripts/floors/table.mjs',
  'missing-reference': 'depends on @holdfast/runtime without a reference to "../runtime"; add it',
};

describe('the floors of the house', () => {
  it.for(Object.entries(refused))('refuse %s', ([fixture, message]) => {
    const { status, output } = floors(fixture);
    expect(output).toContain(message);
    expect(output).toContain('floors: 1 problem(s)');
    expect(status).toBe(1);
  });

  it('pass what they allow, and names in comments and texts', () => {
    expect(floors('allowed')).toEqual({ status: 0, output: '' });
  });

  it('have an expectation for every fixture', () => {
    expect(fixturesIn('floors')).toEqual([...Object.keys(refused), 'allowed'].toSorted());
  });
});

describe.each(['src/crowd', 'test'])('a folder %s of a package', (folder) => {
  const withFiles = (count: number) =>
    runOnEmptyFiles(
      Array.from({ length: count }, (_, at) => `packages/client/${folder}/file-${at}.ts`),
      ['scripts/floors.mjs', '.'],
    );

  it('may hold 15 files', () => {
    expect(withFiles(15)).toEqual({ status: 0, output: '' });
  });

  it('may not hold 16', () => {
    const { status, output } = withFiles(16);
    expect(output).toContain(`packages/client/${folder}: has 16 files, at most 15; give each of its concepts a folder`);
    expect(output).toContain('floors: 1 problem(s)');
    expect(status).toBe(1);
  });
});
