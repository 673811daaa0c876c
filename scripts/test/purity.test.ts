import { describe, expect, it } from 'vitest';

import { fixturesIn, runOnFixture } from './scratch-workspace.ts';

const projects = { core: 'packages/raft/src/core', state: 'packages/state' } as const;

const compile = (fixture: string, project: string) =>
  runOnFixture(`compiler/${fixture}`, [
    'node_modules/typescript/bin/tsc',
    '-p',
    project,
    '--noEmit',
    '--composite',
    'false',
  ]);

const refused: Readonly<Record<string, string>> = {
  timers: "Cannot find name 'setTimeout'",
  performance: "Cannot find name 'performance'",
  process: "Cannot find name 'process'",
  'node-modules': "Cannot find name 'node:fs'",
  console: "Cannot find name 'console'",
  crypto: "Cannot find name 'crypto'",
};

describe.for(Object.entries(projects))('the compiler, in the pure folder of %s', ([name, project]) => {
  it.for(Object.entries(refused))('refuses %s', ([fixture, message]) => {
    const { status, output } = compile(`${name}-${fixture}`, project);
    expect(output).toContain(message);
    expect(status).not.toBe(0);
  });

  it('passes pure code', () => {
    expect(compile(`${name}-pure`, project)).toEqual({ status: 0, output: '' });
  });

  it('has an expectation for every fixture', () => {
    const expected = [...Object.keys(refused), 'pure'].map((fixture) => `${name}-${fixture}`).toSorted();
    expect(fixturesIn('compiler').filter((fixture) => fixture.startsWith(`${name}-`))).toEqual(expected);
  });
});
