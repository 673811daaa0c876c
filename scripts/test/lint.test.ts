import { beforeAll, describe, expect, it } from 'vitest';

import { fixturesIn, runOnFixtures } from './scratch-workspace.ts';

const needTypes = new Set(['floating-promise', 'inexhaustive-switch']);

/** What it says of the files of each fixture: all are linted together, since most of a run is its start. */
function lint(fixtures: readonly string[], options: readonly string[] = []): Map<string, string> {
  const command = ['node_modules/oxlint/bin/oxlint', '--deny-warnings', '--format', 'unix', ...options];
  const { output } = runOnFixtures('lint', fixtures, command);
  const lines = output.split('\n');
  return new Map(
    fixtures.map((fixture) => [fixture, lines.filter((line) => line.includes(`/${fixture}.ts:`)).join('\n')]),
  );
}

const everywhere: Readonly<Record<string, readonly string[]>> = {
  'console-in-a-library': ['no-console'],
  'default-export': ['no-default-export'],
  'floating-promise': ['no-floating-promises'],
  any: ['no-explicit-any'],
  'inexhaustive-switch': ['switch-exhaustiveness-check'],
};

const outsideTheEdges: Readonly<Record<string, readonly string[]>> = {
  'node-modules-outside-the-edges': ["'node:fs' import is restricted"],
  'node-modules-without-prefix': ['prefer-node-protocol'],
  'zlib-beyond-crc32': ["'gzipSync' import from 'node:zlib' is restricted"],
  'timers-outside-the-edges': [
    "Unexpected use of 'setTimeout'",
    'Take time, randomness, network and disk from @holdfast/runtime',
  ],
  'microtasks-outside-the-edges': ["Unexpected use of 'queueMicrotask'"],
  'process-outside-the-edges': ["Unexpected use of 'process'"],
  'date-outside-the-edges': ["Unexpected use of 'Date'"],
  'performance-outside-the-edges': ["Unexpected use of 'performance'"],
  'random-outside-the-edges': ["'Math.random' is restricted"],
  'rm-at-the-edges': ["'rm' import from 'node:fs/promises' is restricted"],
  'abort-timeout-outside-the-edges': ["'AbortSignal.timeout' is restricted"],
};

const inPureFolders: Readonly<Record<string, readonly string[]>> = {
  date: ["Unexpected use of 'Date'", 'raft/core and state are pure'],
  'date-by-global-this': ["Unexpected use of 'globalThis'"],
  random: ["'Math.random' is restricted"],
  async: ['no-async-await'],
  promise: ["Unexpected use of 'Promise'"],
  timers: ["Unexpected use of 'setTimeout'"],
  locale: ["'localeCompare' is restricted"],
  'node-modules': ["'node:fs' import is restricted"],
};

const pure = Object.fromEntries(
  ['core', 'state'].flatMap((name) =>
    Object.entries(inPureFolders).map(([fixture, messages]) => [`${name}-${fixture}`, messages]),
  ),
);
const refused = { ...everywhere, ...outsideTheEdges, ...pure };
const allowed = ['allowed-at-the-edges', 'allowed-outside-the-edges', 'core-pure', 'state-pure'];

describe('the linter', () => {
  let said: ReadonlyMap<string, string>;
  beforeAll(() => {
    const all = [...Object.keys(refused), ...allowed];
    const untyped = all.filter((fixture) => !needTypes.has(fixture));
    said = new Map([...lint(untyped), ...lint([...needTypes], ['--type-aware'])]);
  });

  it.for(Object.entries(refused))('refuses %s', ([fixture, messages]) => {
    for (const message of messages) expect(said.get(fixture)).toContain(message);
  });

  it.for(allowed)('passes %s', (fixture) => {
    expect(said.get(fixture)).toBe('');
  });

  it('has an expectation for every fixture', () => {
    expect(fixturesIn('lint')).toEqual([...Object.keys(refused), ...allowed].toSorted());
  });
});
