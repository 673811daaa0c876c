import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  isReservedPath,
  LOCKS_PATH,
  MAX_LOCK_NAME_LENGTH,
  MAX_EARLY_PATH_LENGTH,
  MAX_PATH_LENGTH,
  baseName,
  decodeLockName,
  encodeLockName,
  lockNameProblem,
  parentPath,
  pathProblem,
} from '../src/index.ts';

describe('a path', () => {
  it.each([
    '/',
    '/a',
    '/a/b',
    '/...',
    '/.a',
    '/a.',
    '/ ',
    '/%2F',
    '/ü/中',
    '/\ufeff',
    '/~',
    `/${'x'.repeat(MAX_PATH_LENGTH - 1)}`,
  ])('may be %j', (path) => expect(pathProblem(path)).toBeUndefined());

  it.each([
    ['', 'does not begin with "/"'],
    ['a', 'does not begin with "/"'],
    ['//', 'has an empty component'],
    ['/a/', 'has an empty component'],
    ['/a//b', 'has an empty component'],
    ['/.', 'has the component "."'],
    ['/a/..', 'has the component ".."'],
    ['/../a', 'has the component ".."'],
    ['/a\0', 'has a character that is not allowed'],
    ['/\n', 'has a character that is not allowed'],
    ['/\u007f', 'has a character that is not allowed'],
    ['/\u009f', 'has a character that is not allowed'],
    ['/\u{1f512}', 'has a character that is not allowed'],
    ['/\ud800', 'has a character that is not allowed'],
    ['/\ue000', 'has a character that is not allowed'],
    ['/\uf8ff', 'has a character that is not allowed'],
    ['/\ufff0', 'has a character that is not allowed'],
    ['/\ufffd', 'has a character that is not allowed'],
    [`/${'x'.repeat(MAX_PATH_LENGTH)}`, 'longer than 4096 characters'],
  ])('may not be %j', (path, problem) => expect(pathProblem(path)).toBe(problem));

  it('may be longer now than it could be, where it is said how long', () => {
    const path = `/${'x'.repeat(MAX_EARLY_PATH_LENGTH)}`;
    expect(pathProblem(path)).toBeUndefined();
    expect(pathProblem(path, false, MAX_EARLY_PATH_LENGTH)).toBe('longer than 1024 characters');
    expect(pathProblem(path.slice(1), false, MAX_EARLY_PATH_LENGTH)).toBe('does not begin with "/"');
  });

  it('may end in an empty component when a sequence number follows, and only there', () => {
    for (const path of ['/a/', '/a', '/']) expect(pathProblem(path, true)).toBeUndefined();
    for (const path of ['//a', '/a//', '//']) expect(pathProblem(path, true)).toBe('has an empty component');
  });

  it('is its parent and its base name', () => {
    expect([parentPath('/a/b/c'), baseName('/a/b/c')]).toEqual(['/a/b', 'c']);
    expect([parentPath('/a'), baseName('/a')]).toEqual(['/', 'a']);
    expect([parentPath('/'), baseName('/')]).toEqual(['/', '']);
    expect(pathProblem(LOCKS_PATH)).toBeUndefined();
  });
});

describe('a reserved path', () => {
  it.each(['/holdfast', '/holdfast/', '/holdfast/locks', '/holdfast//x', LOCKS_PATH])('%s is reserved', (path) => {
    expect(isReservedPath(path)).toBe(true);
  });

  it.each(['', '/', 'holdfast', '/holdfas', '/holdfaster', '/locks', '/a/holdfast', '//holdfast'])(
    '%j is not',
    (path) => {
      expect(isReservedPath(path)).toBe(false);
    },
  );
});

/** Every code point but halves of pairs, and what the encoding treats on its own. */
const wellFormed = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('.', '/', '%', '2', 'E', 'F', 'e', '\0', '\u001f', '\u{1f512}', '\ue000', ' '),
    maxLength: 12,
  }),
);
const lockName = wellFormed.filter((name) => lockNameProblem(name) === undefined);

describe('a lock name', () => {
  it('may be anything well-formed', () => {
    for (const name of [
      'a',
      '.',
      '..',
      '%',
      '/',
      'orders/4711',
      '\u{1f512}',
      '\0',
      ' ',
      'x'.repeat(MAX_LOCK_NAME_LENGTH),
    ]) {
      expect(lockNameProblem(name)).toBeUndefined();
    }
    fc.assert(
      fc.property(wellFormed, (name) => {
        const allowed = name !== '' && !name.includes('\ufffd');
        expect(lockNameProblem(name) === undefined).toBe(allowed);
      }),
    );
  });

  it.each([
    ['', 'is empty'],
    ['x'.repeat(MAX_LOCK_NAME_LENGTH + 1), 'longer than 256 characters'],
    ['a\ufffd', 'has U+FFFD, the mark of malformed text'],
    ['\ud83d', 'has half of a surrogate pair'],
    ['\udd12\ud83d', 'has half of a surrogate pair'],
  ])('may not be %j', (name, problem) => expect(lockNameProblem(name)).toBe(problem));

  it.each([
    ['orders', 'orders'],
    ['.', '%2E'],
    ['..', '%2E%2E'],
    ['...', '...'],
    ['a.b', 'a.b'],
    ['a/b', 'a%2Fb'],
    ['100%', '100%25'],
    ['%2F', '%252F'],
    ['\0', '%00'],
    ['\u{1f512}', '%F0%9F%94%92'],
    ['\ue000', '%EE%80%80'],
    ['größe 中', 'größe 中'],
  ])('%j is the component %j, today and in every later version', (name, component) => {
    expect(encodeLockName(name)).toBe(component);
    expect(decodeLockName(component)).toBe(name);
  });

  it('is always one valid component, from which it comes back', () => {
    fc.assert(
      fc.property(lockName, (name) => {
        const component = encodeLockName(name);
        expect(pathProblem(`${LOCKS_PATH}/${component}`)).toBeUndefined();
        expect(baseName(`${LOCKS_PATH}/${component}`)).toBe(component);
        expect(decodeLockName(component)).toBe(name);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has one component only', () => {
    const component = fc.oneof(
      fc.string({ unit: fc.constantFrom('%', '2', 'E', 'e', 'F', 'f', '4', '1', '.', 'a'), maxLength: 9 }),
      fc.string({ unit: 'binary', maxLength: 9 }),
    );
    fc.assert(
      fc.property(component, (text) => {
        const name = decodeLockName(text);
        if (name !== undefined) expect(encodeLockName(name)).toBe(text);
      }),
      { numRuns: 1_000 },
    );
    for (const text of ['%', '%4', '%41', '%2f', '.', '..', 'a/b', '%ED%A0%80', '%FF', '%C0%AF', '\0']) {
      expect(decodeLockName(text)).toBeUndefined();
    }
  });
});
