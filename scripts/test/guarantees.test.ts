import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/guarantees.md'), 'utf8');

interface Shown {
  readonly promise: string;
  readonly title: string;
  /** From the root of the repository. */
  readonly file: string;
}

/** The rows of the tables of promises. */
function promises(): readonly (Shown | string)[] {
  const rows = PAGE.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| promise |'));
  return rows.map((row) => {
    const [, promise = '', title, path] = /^\| (.*?) \| \[(.*)\]\(\.\.\/([^)#]+)\) \|$/.exec(row) ?? [];
    return title === undefined || path === undefined ? row : { promise, title, file: path };
  });
}

/** Whether a test of that file has the title, or one that begins or ends so where it is made. */
function has({ file, title }: Shown): boolean {
  if (!existsSync(join(ROOT, file))) return false;
  const source = readFileSync(join(ROOT, file), 'utf8');
  const at = source.indexOf(title);
  return at >= 0 && /\b(?:it|promise)\b[^;]{0,80}['"`][^'"`]{0,40}$/.test(source.slice(Math.max(0, at - 200), at));
}

describe('every guarantee', () => {
  it('names the test that shows it', () => {
    const all = promises();
    expect(all.filter((row) => typeof row === 'string')).toEqual([]);
    expect(all.length).toBeGreaterThan(30);
  });

  it.each(promises().filter((row) => typeof row !== 'string'))('has that test: $promise', (shown) => {
    expect(has(shown), `${shown.file} has no test ${JSON.stringify(shown.title)}`).toBe(true);
  });

  it('is missed when its test goes: the check fails for a title that there is not', () => {
    const file = 'packages/state/test/locks/locks.test.ts';
    expect(has({ promise: '', title: 'leaves nothing once it is released', file })).toBe(true);
    expect(has({ promise: '', title: 'leaves something once it is released', file })).toBe(false);
    expect(has({ promise: '', title: 'expect', file })).toBe(false);
  });
});
