import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Edit } from '../../src/patches/patch.ts';
import { Planted, plantedTogether } from '../../src/patches/planted.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-planted-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function planted(name: string, edits: Readonly<Record<string, readonly Edit[]>>): Planted {
  const own = join(directory, name);
  mkdirSync(own);
  const urls = Object.entries(edits).map(([file, some]) => [pathToFileURL(join(directory, file)).href, some] as const);
  return new Planted(Object.fromEntries(urls), own);
}

function says(environment: NodeJS.ProcessEnv): string {
  return execFileSync(process.execPath, [join(directory, 'main.mjs')], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  });
}

describe('changes that a program loads', () => {
  beforeEach(() => {
    writeFileSync(
      join(directory, 'main.mjs'),
      "import { word } from './word.mjs'; process.stdout.write(`one ${word}`);",
    );
    writeFileSync(join(directory, 'word.mjs'), "export const word = 'two three';");
  });

  it('are made beside those of somebody else, in other files and in the same one', () => {
    const one = planted('one', {
      'main.mjs': [{ find: 'one', replace: '1' }],
      'word.mjs': [{ find: 'two', replace: '2' }],
    });
    const other = planted('other', { 'word.mjs': [{ find: 'three', replace: '3' }] });
    expect(says(one.environment)).toBe('1 2 three');
    expect(says(plantedTogether(one.environment, other.environment))).toBe('1 2 3');
    expect([...one.missing(), ...other.missing()]).toEqual([]);
  });

  it('are noted as made by those alone who asked for them', () => {
    const one = planted('one', { 'main.mjs': [{ find: 'one', replace: '1' }] });
    const unused = planted('unused', { 'other.mjs': [{ find: 'three', replace: '3' }] });
    expect(says(plantedTogether(one.environment, unused.environment))).toBe('1 two three');
    expect([one.missing().length, unused.missing().length]).toEqual([0, 1]);
  });

  it('leave an environment without any as it is', () => {
    expect(plantedTogether({ A: '1' }, { B: '2' })).toEqual({ A: '1', B: '2' });
    const { environment } = planted('one', { 'main.mjs': [{ find: 'one', replace: '1' }] });
    expect(plantedTogether(environment, {})).toEqual(environment);
    expect(plantedTogether({ NODE_OPTIONS: '--no-warnings' }, environment).NODE_OPTIONS).toMatch(
      /^--no-warnings --import=/,
    );
  });
});
