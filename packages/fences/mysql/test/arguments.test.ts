import type { Doing } from '@holdfast/fence-sql';
import type mysql from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { asBodyError, asFenceError, isConnectionError } from '../src/errors.ts';
import { fence, FenceError, highest, install, migrate } from '../src/index.ts';

/** Nothing may be sent with arguments that are malformed. */
function untouched(): mysql.Pool {
  const refuse = (): never => {
    throw new Error('the pool was asked');
  };
  return { getConnection: refuse, query: refuse } as unknown as mysql.Pool;
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
const none = (): undefined => undefined;

describe('the arguments of a call', () => {
  it.each([
    undefined,
    null,
    'mysql://localhost',
    {},
    { query: none, beginTransaction: none }, // a connection
    { getConnection: none, promise: none }, // a pool with callbacks
    { getConnection: none, of: none }, // a cluster of pools
  ])('have no pool %j', async (wrong) => {
    const pool = wrong as unknown as mysql.Pool;
    for (const call of [
      fence(pool, 'jobs', holder, body),
      install(pool, 'jobs', holder),
      highest(pool, 'jobs'),
      migrate(pool),
    ]) {
      expect(await refusal(call)).toContain('what createPool of mysql2/promise gives');
    }
  });

  it.each(['', 5, null, 'a\0b', 'x'.repeat(201)])('have no scope %j', async (wrong) => {
    const scope = wrong as string;
    const pool = untouched();
    for (const call of [fence(pool, scope, holder, body), install(pool, scope, holder), highest(pool, scope)]) {
      expect(await refusal(call)).toMatch(/scope/);
    }
  });

  it.each([-1, 0, 1.5, Number.NaN, '5', 2 ** 53, 5n, null, undefined])('have no token %s', async (token) => {
    const wrong = { token } as { readonly token: number };
    expect(await refusal(fence(untouched(), 'jobs', wrong, body))).toContain('is no token');
    expect(await refusal(install(untouched(), 'jobs', wrong))).toContain('is no token');
  });

  it('have a body that is a function', async () => {
    const wrong = undefined as unknown as typeof body;
    expect(await refusal(fence(untouched(), 'jobs', holder, wrong))).toContain('the body');
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
  const sql = (code: string, errno: number, message = 'refused'): Error =>
    Object.assign(new Error(message), { code, errno });
  const told = (error: unknown, doing: Doing): FenceError => asFenceError(error, doing);

  it.each([
    ['PROTOCOL_CONNECTION_LOST', 0],
    ['ECONNREFUSED', -111],
    ['ER_CON_COUNT_ERROR', 1040],
    ['ER_CONNECTION_KILLED', 1927],
    ['ER_CLIENT_INTERACTION_TIMEOUT', 4031],
  ])('%s is one of the connection', (code, errno) => {
    const error = sql(code, errno);
    expect(told(error, 'enter')).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false });
    expect(told(error, 'commit')).toMatchObject({ code: 'CONNECTION', retryable: false, indeterminate: true });
    expect(asBodyError(error)).toMatchObject({ name: 'FenceError', code: 'CONNECTION', indeterminate: false });
  });

  it('of a connection that was closed before has sent no commit', () => {
    const closed = new Error("Can't add new command when connection is in closed state");
    expect(isConnectionError(closed)).toBe(true);
    expect(told(closed, 'commit')).toMatchObject({ code: 'CONNECTION', indeterminate: false });
  });

  it('of a refused password is none of the connection, although it ends one', () => {
    const refused = Object.assign(sql('ER_ACCESS_DENIED_ERROR', 1045), { fatal: true });
    expect(told(refused, 'connect')).toMatchObject({ code: 'RESOURCE', retryable: false });
  });

  it('of a deadlock can be tried again, and one of a constraint cannot', () => {
    expect(told(sql('ER_LOCK_DEADLOCK', 1213), 'commit')).toMatchObject({ code: 'RESOURCE', retryable: true });
    expect(told(sql('ER_DUP_ENTRY', 1062), 'commit')).toMatchObject({ code: 'RESOURCE', retryable: false });
  });

  it('of a limit of time is a timeout, whose commit may have happened if the driver gave up', () => {
    const server = sql('ER_LOCK_WAIT_TIMEOUT', 1205);
    expect(told(server, 'install')).toMatchObject({ code: 'TIMEOUT', retryable: true });
    const driver = sql('PROTOCOL_SEQUENCE_TIMEOUT', 0);
    expect(told(driver, 'commit')).toMatchObject({ code: 'TIMEOUT', indeterminate: true });
  });

  it('of a replica is told as such', () => {
    const message = told(sql('ER_OPTION_PREVENTS_STATEMENT', 1290), 'install').message;
    expect(message).toContain('is this a replica?');
  });

  it('of a body stays as it is, if it is not of the connection', () => {
    for (const error of [sql('ER_DUP_ENTRY', 1062), new Error('own'), 'text', undefined])
      expect(asBodyError(error)).toBe(error);
  });
});
