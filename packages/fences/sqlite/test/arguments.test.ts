import { describe, expect, it } from 'vitest';
import { asFenceError, isBusy } from '../src/errors.ts';
import { fence, FenceError, highest, install, migrate, type SqliteDatabase } from '../src/index.ts';

/** Nothing may be sent with arguments that are malformed. */
function untouched(): SqliteDatabase {
  const refuse = (): never => {
    throw new Error('the database was asked');
  };
  return { exec: refuse, prepare: refuse };
}

async function refusal(call: () => unknown): Promise<string> {
  let error: unknown;
  try {
    await call();
  } catch (reason) {
    error = reason;
  }
  expect(error).toBeInstanceOf(FenceError);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false, indeterminate: false });
  return (error as FenceError).message;
}

const holder = { token: 5 };
const body = (): void => undefined;
const none = async (): Promise<undefined> => undefined;

describe('the arguments of a call', () => {
  it.each([
    undefined,
    null,
    'file.db',
    {},
    { exec: none },
    { exec: none, prepare: () => none() }, // prepares by promises
    { exec: none, prepare: () => ({ get: none, run: none }) }, // answers by promises
  ])('have no database %j', async (wrong) => {
    const database = wrong as unknown as SqliteDatabase;
    for (const call of [
      () => fence(database, 'jobs', holder, body),
      () => install(database, 'jobs', holder),
      () => highest(database, 'jobs'),
    ]) {
      expect(await refusal(call)).toContain('the database of the application');
    }
  });

  it('of migrate are a database', async () => {
    expect(await refusal(() => migrate({} as SqliteDatabase))).toContain('the database of the application');
  });

  it.each(['', 5, null, 'a\0b', 'x'.repeat(201)])('have no scope %j', async (wrong) => {
    const scope = wrong as string;
    for (const call of [
      () => fence(untouched(), scope, holder, body),
      () => install(untouched(), scope, holder),
      () => highest(untouched(), scope),
    ]) {
      expect(await refusal(call)).toMatch(/scope/);
    }
  });

  it.each([-1, 0, 1.5, Number.NaN, '5', 2 ** 53, 5n, null, undefined])('have no token %s', async (token) => {
    const wrong = { token } as { readonly token: number };
    expect(await refusal(() => fence(untouched(), 'jobs', wrong, body))).toContain('is no token');
    expect(await refusal(() => install(untouched(), 'jobs', wrong))).toContain('is no token');
  });

  it('have a body that is a function', async () => {
    const wrong = undefined as unknown as typeof body;
    expect(await refusal(() => fence(untouched(), 'jobs', holder, wrong))).toContain('the body');
  });

  it.each([
    [{ wait: 5 }, 'fence has no option "wait"'],
    [{ waitMs: 0 }, 'waitMs is 0'],
    [{ waitMs: '5' }, 'waitMs is 5'],
    [{ signal: 5 }, 'signal is no AbortSignal'],
    [null, 'fence takes an object with options'],
  ])('have no options %j', async (options, message) => {
    expect(await refusal(() => fence(untouched(), 'jobs', holder, body, options as object))).toContain(message);
  });
});

describe('an error of the driver', () => {
  const byCode = (code: string): Error => Object.assign(new Error('refused'), { code });
  const byNumber = (errcode: number): Error =>
    Object.assign(new Error('refused'), { code: 'ERR_SQLITE_ERROR', errcode });

  it.each([byCode('SQLITE_BUSY'), byCode('SQLITE_BUSY_SNAPSHOT'), byCode('SQLITE_LOCKED'), byNumber(5), byNumber(517)])(
    'that says that others write can be tried again (%#)',
    (error) => {
      expect(isBusy(error)).toBe(true);
      expect(asFenceError(error, 'commit')).toMatchObject({ code: 'TIMEOUT', retryable: true, indeterminate: false });
    },
  );

  it.each([byCode('SQLITE_IOERR_FSYNC'), byNumber(1034)])('of a sync that failed may be of a commit (%#)', (error) => {
    expect(asFenceError(error, 'commit')).toMatchObject({ code: 'RESOURCE', indeterminate: true });
    expect(asFenceError(error, 'install')).toMatchObject({ code: 'RESOURCE', indeterminate: false });
  });

  it('of a full disk says what to do', () => {
    const error = asFenceError(byCode('SQLITE_FULL'), 'commit');
    expect(error).toMatchObject({ code: 'RESOURCE', retryable: true, indeterminate: false });
    expect(error.message).toContain('free space on the disk');
  });

  it('of whatever kind is its cause', () => {
    for (const cause of [new Error('own'), 'text', undefined, byCode('SQLITE_CORRUPT')]) {
      expect(asFenceError(cause, 'read')).toMatchObject({ code: 'RESOURCE', retryable: false });
    }
    expect(isBusy(byCode('SQLITE_CORRUPT'))).toBe(false);
  });
});
