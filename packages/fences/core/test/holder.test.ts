import { describe, expect, it } from 'vitest';
import { checkHolder, checkOptionNames, checkScope, FenceError, floorOf } from '../src/index.ts';

function refusal(check: () => void): string {
  try {
    check();
  } catch (error) {
    if (error instanceof FenceError && error.code === 'INVALID_ARGUMENT') return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('a holder', () => {
  it.each([
    { token: 1 },
    { token: 2 ** 53 - 1 },
    { token: 9, floor: 5 },
    { token: 9, floor: 9 },
    { token: 9, floor: undefined, signal: undefined },
    { token: 9, signal: new AbortController().signal, assertHeld: () => undefined },
  ])('may be %j', (holder) => {
    expect(() => checkHolder(holder)).not.toThrow();
  });

  it.each([-1, 0, 1.5, Number.NaN, Infinity, 2 ** 53, '5', 5n, null, undefined, [5], {}])(
    'has no token %s, and is told what one is',
    (token) => {
      expect(refusal(() => checkHolder({ token }))).toMatch(/ is no token of a holder: .* from 1 to 2\^53 − 1/);
      if (token !== undefined) {
        expect(refusal(() => checkHolder({ token: 9, floor: token }))).toMatch(/ is no floor of a holder: /);
      }
    },
  );

  it.each([undefined, null, 5, 'held', () => 5])('is not %s', (value) => {
    expect(refusal(() => checkHolder(value))).toMatch(/ is no holder: pass the held lock/);
  });

  it('shows what was given, cut where it is long', () => {
    expect(refusal(() => checkHolder({ token: '5' }))).toMatch(/^"5" is no token/);
    expect(refusal(() => checkHolder({ token: 5n }))).toMatch(/^5n is no token/);
    expect(refusal(() => checkHolder({ token: 'x'.repeat(1_000) })).length).toBeLessThan(200);
  });

  it('has no floor above its token: it would not hold the lock any more', () => {
    expect(refusal(() => checkHolder({ token: 5, floor: 6 }))).toMatch(/^the floor 6 is above the token 5/);
  });

  it('has a signal and a check that are such', () => {
    expect(refusal(() => checkHolder({ token: 5, signal: {} }))).toMatch(/AbortSignal/);
    expect(refusal(() => checkHolder({ token: 5, assertHeld: true }))).toMatch(/pass a function/);
  });

  it('tells the resource its floor: that of those who share, or its token', () => {
    expect(floorOf({ token: 9 })).toBe(9);
    expect(floorOf({ token: 9, floor: undefined })).toBe(9);
    expect(floorOf({ token: 9, floor: 5 })).toBe(5);
    expect(floorOf({ token: 9, floor: 12 })).toBe(9);
  });
});

describe('a scope', () => {
  it.each(['jobs', "'; DROP TABLE jobs; --", 'ü/💡', 'x'.repeat(200), ' '])('may be %j', (scope) => {
    expect(() => checkScope(scope)).not.toThrow();
  });

  it.each([
    [5, /^5 is no scope: name what/],
    [undefined, /^undefined is no scope/],
    [{ name: 'jobs' }, /^an object is no scope/],
    ['', /^a scope needs a name/],
    ['a\0b', /U\+0000/],
    ['a\ud800', /surrogate/],
    ['\udc00a', /surrogate/],
    ['x'.repeat(201), /has 201 bytes, at most 200/],
    ['ü'.repeat(101), /has 202 bytes, at most 200/],
  ])('is not %j', (scope, message) => {
    expect(refusal(() => checkScope(scope))).toMatch(message);
  });
});

describe('options', () => {
  it('are those that there are', () => {
    const known = { signal: true, timeoutMs: true } as const;
    expect(() => checkOptionNames('fence', {}, known)).not.toThrow();
    expect(() => checkOptionNames('fence', { timeoutMs: 5 }, known)).not.toThrow();
    expect(refusal(() => checkOptionNames('fence', { timeout: 5 }, known))).toBe(
      'fence has no option "timeout"; known are signal, timeoutMs',
    );
    expect(refusal(() => checkOptionNames('fence', null, known))).toMatch(/^fence takes an object with options/);
    expect(refusal(() => checkOptionNames('fence', 5, known))).toMatch(/^fence takes an object with options/);
  });
});
