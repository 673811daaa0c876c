import { describe, expect, it } from 'vitest';
import { PathFilter } from '../../../src/watches/paths/path-filter.ts';

function mayConcern(filter: PathFilter, path: string): boolean {
  // In the middle of other bytes, as a history has them; the path of "/" has none.
  const bytes = Buffer.from(`x/${path === '/' ? '' : path}/y`);
  return filter.mayConcern(bytes, 2, bytes.length - 2);
}

describe('a filter of paths', () => {
  it.each(['/a', '/a/b', '/a/b/c/d', '/ä/ö', '/'])('knows %s, and everything below it', (path) => {
    const filter = new PathFilter([path]);
    expect(mayConcern(filter, path)).toBe(true);
    const below = path === '/' ? '' : path;
    for (const name of ['x', 'x/y', 'ü']) expect(mayConcern(filter, `${below}/${name}`)).toBe(true);
  });

  it('takes nothing above a path or beside it for it', () => {
    const filter = new PathFilter(['/a/b']);
    for (const path of ['/', '/a', '/a/', '/a/bc', '/b/a', '/b', '/a/c/b'])
      expect(mayConcern(filter, path)).toBe(false);
  });

  it('never says no to any of as many as a message names, nor yes to many others', () => {
    const wanted = Array.from({ length: 1_024 }, (_, n) => `/service-${n % 7}/node-${n}`);
    const filter = new PathFilter(wanted);
    for (const path of wanted) {
      expect(mayConcern(filter, path)).toBe(true);
      expect(mayConcern(filter, `${path}/child`)).toBe(true);
    }
    const others = Array.from({ length: 10_000 }, (_, n) => `/service-${n % 7}/other-${n}`);
    expect(others.filter((path) => mayConcern(filter, path)).length).toBeLessThan(500);
  });
});
