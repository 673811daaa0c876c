import { DiskError, ListenError } from '@holdfast/runtime';
import { SnapshotError } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../src/settings/config.ts';
import { DivergenceError } from '../src/health/divergence.ts';
import { exitCodeOf } from '../src/exit-code.ts';

function named(name: string, options?: ErrorOptions): Error {
  const error = new Error(name, options);
  error.name = name;
  return error;
}

describe('the exit code', () => {
  it.each([
    [2, new UsageError('x')],
    [64, new ListenError('ADDRESS_IN_USE', 'x')],
    [2, new ListenError('ADDRESS_NOT_AVAILABLE', 'x')],
    [2, new ListenError('NOT_PERMITTED', 'x')],
    [65, new DiskError('LOCKED', '/d', 'x')],
    [65, named('DataDirectoryInUseError')],
    [66, named('IdentityMismatchError')],
    [67, named('DamagedLogError')],
    [68, new DiskError('NO_SPACE', '/d', 'x')],
    [68, new DiskError('IO', '/d', 'x')],
    [69, named('InvariantError')],
    [69, new DivergenceError(1_024, 1, 2)],
    [70, named('UnsupportedEntryError')],
    [67, new SnapshotError('MALFORMED', 'ends too early')],
    [70, new SnapshotError('UNSUPPORTED', 'has state version 2')],
    [1, new Error('unforeseen')],
    [1, 'not an error'],
  ])('is %i for %s', (code, error) => {
    expect(exitCodeOf(error)).toBe(code);
  });

  it('is that of the cause when the error itself says nothing', () => {
    expect(exitCodeOf(new Error('start failed', { cause: named('DamagedLogError') }))).toBe(67);
  });
});
