import type { Doing } from '@holdfast/fence-sql';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { fence, FenceError, guard, highest, install, migrate } from '../src/index.ts';
import { asBodyError, asFenceError, isConnectionError } from '../src/errors.ts';

/** Nothing may be sent with arguments that are malformed. */
function untouched(): pg.Pool {
  const refuse = (): never => {
    throw new Error('the pool was asked');
  };
  return { totalCount: 0, connect: refuse, query: refuse } as unknown as pg.Pool;
}

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(FenceError);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false, indeterminate: false });
  return (error as FenceError).message;
}

const holder = { token: 5 };
const body = async (): Promise<void> => undefined;

describe('the arguments of a call', () => {
  it.each([undefined, null, 'postgres://localhost', {}, { connect: () => undefined }])(
    'have no pool %j',
    async (wrong) => {
      const pool = wrong as unknown as pg.Pool;
      for (const call of [
        fence(pool, 'jobs', holder, body),
        install(pool, 'jobs', holder),
        highest(pool, 'jobs'),
        guard(pool, 'jobs', 'jobs'),
        migrate(pool),
      ]) {
        expect(await refusal(call)).toContain('a Pool of pg, and no Client');
      }
    },
  );

  it.each(['', 5, null, 'a\0b', 'x'.repeat(201)])('have no scope %j', async (wrong) => {
    const scope = wrong as string;
    const pool = untouched();
    for (const call of [
      () => fence(pool, scope, holder, body),
      () => install(pool, scope, holder),
      () => highest(pool, scope),
      () => guard(pool, 'jobs', scope),
    ]) {
      expect(await refusal(call())).toMatch(/scope/);
    }
  });

  it.each([-1, 0, 1.5, Number.NaN, '5', 2 ** 53, 5n, null, undefined])('have no token %s', async (token) => {
    const wrong = { token } as { readonly token: number };
    expect(await refusal(fence(untouched(), 'jobs', wrong, body))).toContain('is no token');
    expect(await refusal(install(untouched(), 'jobs', wrong))).toContain('is no token');
  });

  it('have a body that is a function', async () => {
    expect(await refusal(fence(untouched(), 'jobs', holder, undefined as unknown as typeof body))).toContain(
      'the body',
    );
  });

  it.each([
    [{ wait: 5 }, 'fence has no option "wait"'],
    [{ waitMs: 0 }, 'waitMs is 0'],
    [{ waitMs: Infinity }, 'waitMs is Infinity'],
    [{ waitMs: '5' }, 'waitMs is 5'],
    [{ idleMs: 2 ** 31 }, 'idleMs is 2147483648'],
    [{ isolation: 'read uncommitted; DROP TABLE jobs' }, 'isolation is "read uncommitted; DROP TABLE jobs"'],
    [{ isolation: 'toString' }, 'isolation is "toString"'],
    [null, 'fence takes an object with options'],
  ])('have no options %j', async (options, message) => {
    expect(await refusal(fence(untouched(), 'jobs', holder, body, options as object))).toContain(message);
  });

  it('of an install have none of a transaction', async () => {
    expect(await refusal(install(untouched(), 'jobs', holder, { idleMs: 5 } as object))).toContain('"idleMs"');
  });
});

describe('an error of the driver', () => {
  const sql = (code: string, message = 'refused'): Error => Object.assign(new Error(message), { code });
  const told = (error: unknown, doing: Doing) => asFenceError(error, { doing, scope: 'jobs', token: 5 });

  it.each(['57P01', '08006', 'ECONNREFUSED', '53300'])('%s is one of the connection', (code) => {
    expect(told(sql(code), 'enter')).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false });
    expect(told(sql(code), 'commit')).toMatchObject({ code: 'CONNECTION', retryable: false, indeterminate: true });
    expect(asBodyError(sql(code), 'jobs')).toMatchObject({
      name: 'FenceError',
      code: 'CONNECTION',
      indeterminate: false,
    });
  });

  it('without a code is one of the connection by what pg says', () => {
    expect(isConnectionError(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isConnectionError(new AggregateError([sql('ECONNREFUSED')]))).toBe(true);
    expect(isConnectionError(new Error('Connection terminated'.toLowerCase()))).toBe(false);
    expect(isConnectionError('Connection terminated')).toBe(false);
  });

  it('of a conflict at the commit can be tried again, and one of a constraint cannot', () => {
    expect(told(sql('40001'), 'commit')).toMatchObject({ code: 'RESOURCE', retryable: true, indeterminate: false });
    expect(told(sql('23505'), 'commit')).toMatchObject({ code: 'RESOURCE', retryable: false, indeterminate: false });
  });

  it('of a limit of time is a timeout, whose commit may have happened if the driver gave up', () => {
    expect(told(sql('57014'), 'enter')).toMatchObject({ code: 'TIMEOUT', indeterminate: false });
    expect(told(sql('57014'), 'commit')).toMatchObject({ code: 'TIMEOUT', indeterminate: false });
    expect(told(new Error('Query read timeout'), 'commit')).toMatchObject({ code: 'TIMEOUT', indeterminate: true });
  });

  it('of a body stays as it is, if it is neither of the fence nor of the connection', () => {
    for (const error of [sql('23505'), new Error('own'), 'text', undefined])
      expect(asBodyError(error, 'jobs')).toBe(error);
  });
});
