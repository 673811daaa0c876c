import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshBundle } from '../src/programs.ts';

let packages: string;

beforeEach(() => (packages = mkdtempSync(join(tmpdir(), 'programs-'))));
afterEach(() => rmSync(packages, { recursive: true }));

function file(name: string, changedAt: number): string {
  const path = join(packages, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  utimesSync(path, changedAt, changedAt);
  return path;
}

describe('the program that is started', () => {
  it('is its bundle, where that is newer than whatever was built', () => {
    const entry = file('lockd/dist/main.js', 10);
    file('lockd/dist/.tsbuildinfo', 10);
    file('raft/dist/.tsbuildinfo', 20);
    const bundle = file('lockd/dist/bundle/main.js', 30);
    expect(freshBundle(entry)).toBe(bundle);
  });

  it('is its bundle, where a link leads to the package', () => {
    file('lockd/dist/main.js', 10);
    const bundle = file('lockd/dist/bundle/main.js', 30);
    mkdirSync(join(packages, 'links'));
    symlinkSync(join(packages, 'lockd'), join(packages, 'links/lockd'));
    expect(freshBundle(join(packages, 'links/lockd/dist/main.js'))).toBe(bundle);
  });

  it('is what was built, where a part of it was built since', () => {
    const entry = file('lockd/dist/main.js', 10);
    file('lockd/dist/.tsbuildinfo', 10);
    file('lockd/dist/bundle/main.js', 30);
    file('raft/dist/.tsbuildinfo', 31);
    expect(freshBundle(entry)).toBe(entry);
  });

  it('is what was built, where nobody has made a bundle', () => {
    const entry = file('lockd/dist/main.js', 10);
    expect(freshBundle(entry)).toBe(entry);
  });
});
