import { describe, expect, it } from 'vitest';
import { FenceError, StaleTokenError, type FenceErrorCode } from '../src/index.ts';

describe('an error of a fence', () => {
  it('says by its code what is wrong, and keeps the error of the driver', () => {
    const cause = new Error('57P01');
    const error = new FenceError('RESOURCE', 'the database refused', { cause });
    expect(error).toMatchObject({
      name: 'FenceError',
      code: 'RESOURCE',
      retryable: false,
      indeterminate: false,
      cause,
    });
    expect(error).toBeInstanceOf(Error);
    expect('cause' in new FenceError('RESOURCE', 'no cause')).toBe(false);
  });

  it.each<[FenceErrorCode, boolean]>([
    ['CONNECTION', true],
    ['TIMEOUT', true],
    ['ABORTED', false],
    ['STALE_TOKEN', false],
    ['SCHEMA_MISSING', false],
  ])('%s may succeed later: %s', (code, retryable) => {
    expect(new FenceError(code, '').retryable).toBe(retryable);
    expect(new FenceError(code, '', { retryable: !retryable }).retryable).toBe(!retryable);
  });

  it('whose write may have happened is not to be repeated blindly', () => {
    expect(new FenceError('CONNECTION', '', { indeterminate: true })).toMatchObject({
      retryable: false,
      indeterminate: true,
    });
  });

  it('of a stale token says whose, where, and what to do', () => {
    const error = new StaleTokenError('jobs', 41, 57);
    expect(error).toMatchObject({
      name: 'StaleTokenError',
      code: 'STALE_TOKEN',
      scope: 'jobs',
      token: 41,
      highest: 57,
    });
    expect(error.message).toBe(
      'token 41 is stale in scope "jobs", which has seen 57: ' +
        'a newer holder of the lock has been here; stop this work, and acquire the lock again',
    );
    expect(error).toBeInstanceOf(FenceError);
  });

  it('is known to another copy of the package, and a stranger is not', () => {
    const mark = Symbol.for('@holdfast/fence:FenceError');
    expect({ [mark]: true } instanceof FenceError).toBe(true);
    expect({ [mark]: true } instanceof StaleTokenError).toBe(false);
    for (const stranger of [new Error('x'), null, 'STALE_TOKEN', { code: 'STALE_TOKEN' }]) {
      expect(stranger instanceof FenceError).toBe(false);
    }
    class OwnError extends FenceError {}
    expect(new FenceError('RESOURCE', '') instanceof OwnError).toBe(false);
    expect(new OwnError('RESOURCE', '') instanceof OwnError).toBe(true);
  });
});
