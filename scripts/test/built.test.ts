import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { ensureBuilt } from '../runner/built.mjs';

const LONG_AGO = new Date(0);

let directory: string;
let entry: string;
let compiled: number;

/** A workspace whose files are all older than any compilation. */
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-built-'));
  const scratch = directory;
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  entry = join(directory, 'packages/one/dist/main.js');
  compiled = 0;
  mkdirSync(join(directory, 'packages/one/src/folder'), { recursive: true });
  for (const file of ['package.json', 'packages/one/src/main.ts', 'packages/one/src/folder/part.ts']) write(file);
  age();
});

function write(file: string): void {
  writeFileSync(join(directory, file), '');
}

function age(): void {
  const parts = ['package.json', 'packages/one/src/main.ts', 'packages/one/src/folder/part.ts'];
  const folders = ['packages/one/src/folder', 'packages/one/src', 'packages/one', 'packages', ''];
  for (const part of [...parts, ...folders]) {
    if (existsSync(join(directory, part))) utimesSync(join(directory, part), LONG_AGO, LONG_AGO);
  }
}

function build(succeeds = true): boolean {
  return ensureBuilt(entry, directory, () => {
    compiled += 1;
    mkdirSync(join(entry, '..'), { recursive: true });
    if (succeeds) writeFileSync(entry, '');
    return succeeds;
  });
}

/** As they are after a compilation: what it has written makes no source newer. */
function built(): void {
  expect(build()).toBe(true);
  age();
  expect([build(), compiled]).toEqual([true, 1]);
}

describe('a program of the repository', () => {
  it('is compiled once, and not again while nothing changes', built);

  it('is compiled again when a source changes', () => {
    built();
    const later = new Date(Date.now() + 10_000);
    utimesSync(join(directory, 'packages/one/src/folder/part.ts'), later, later);
    expect([build(), compiled]).toEqual([true, 2]);
  });

  it('is compiled again when a source is removed', () => {
    built();
    const later = new Date(Date.now() + 10_000);
    rmSync(join(directory, 'packages/one/src/folder/part.ts'));
    utimesSync(join(directory, 'packages/one/src/folder'), later, later);
    expect([build(), compiled]).toEqual([true, 2]);
  });

  it('is compiled again when what was built is gone', () => {
    built();
    rmSync(entry);
    expect([build(), compiled]).toEqual([true, 2]);
  });

  it('is tried again after a compilation that failed', () => {
    expect(build(false)).toBe(false);
    expect(build()).toBe(true);
    expect(compiled).toBe(2);
  });

  it('is not compiled for a test or a document', () => {
    built();
    const later = new Date(Date.now() + 10_000);
    mkdirSync(join(directory, 'docs'));
    write('docs/page.md');
    utimesSync(join(directory, 'docs/page.md'), later, later);
    age();
    expect([build(), compiled]).toEqual([true, 1]);
  });
});
