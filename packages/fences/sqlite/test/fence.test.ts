import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { fence, FenceError, highest, install, migrate, SCHEMA_SQL, StaleTokenError } from '../src/index.ts';
import { migrateTo } from '../src/schema.ts';
import { SCHEMA_VERSION } from '../src/sql.ts';
import { DRIVERS, type OpenDatabase } from './support/drivers.ts';

async function failureOf(work: Promise<unknown> | (() => unknown)): Promise<unknown> {
  try {
    await (typeof work === 'function' ? work() : work);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe.each(Object.entries(DRIVERS))('with %s, a fenced transaction', (_name, open) => {
  let database: OpenDatabase;

  beforeEach(() => {
    database = open();
    const opened = database;
    onTestFinished(() => {
      try {
        opened.close();
      } catch {
        // A test has closed it.
      }
    });
    migrate(database);
    database.exec('CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO account VALUES (1, 10)');
  });

  const set = (value: number) => (tx: OpenDatabase) => void tx.prepare('UPDATE account SET balance = ?').run(value);
  const balance = (on: OpenDatabase = database): unknown =>
    (on.prepare('SELECT balance FROM account').get() as { readonly balance: unknown }).balance;

  it('returns what its body returns', async () => {
    const result = await fence(database, 'accounts', { token: 5 }, (tx) => {
      set(20)(tx);
      return balance(tx);
    });
    expect([result, balance(), highest(database, 'accounts')]).toEqual([20, 20, 5]);
  });

  it('that is stale is told which token is ahead of it, and its body is not run', async () => {
    await install(database, 'accounts', { token: 7 });
    let ran = false;
    const error = await failureOf(
      fence(database, 'accounts', { token: 5 }, () => {
        ran = true;
      }),
    );
    expect(error).toBeInstanceOf(StaleTokenError);
    expect(error).toMatchObject({ code: 'STALE_TOKEN', scope: 'accounts', token: 5, highest: 7 });
    expect(ran).toBe(false);
    expect(highest(database, 'nobody was here')).toBe(0);
  });

  it('whose body throws is rolled back, keeps its token, and passes the error on as it is', async () => {
    const own = new Error('no funds');
    const thrown = fence(database, 'accounts', { token: 5 }, (tx) => {
      set(20)(tx);
      throw own;
    });
    expect(await failureOf(thrown)).toBe(own);
    const refused = fence(database, 'accounts', { token: 5 }, (tx) => tx.exec('INSERT INTO account VALUES (1, 1)'));
    const error = await failureOf(refused);
    expect(String(error)).toContain('UNIQUE');
    expect(error).not.toBeInstanceOf(FenceError);
    expect([balance(), highest(database, 'accounts')]).toEqual([10, 5]);
  });

  it('whose body is asynchronous is rolled back, with the advice to have none', async () => {
    const asynchronous = fence(database, 'accounts', { token: 5 }, async (tx) => {
      set(20)(tx);
      throw new Error('nobody hears of it');
    });
    const error = await failureOf(asynchronous);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(String(error)).toContain('it is synchronous');
    expect(balance()).toBe(10);
  });

  it.each(['COMMIT', 'ROLLBACK', 'COMMIT; BEGIN'])('whose body runs %s is told that it was not fenced', async (sql) => {
    const ended = fence(database, 'accounts', { token: 5 }, (tx) => {
      tx.exec(sql);
      set(20)(tx);
    });
    const error = await failureOf(ended);
    expect(error).toMatchObject({ code: 'RESOURCE', indeterminate: true });
    expect(String(error)).toContain('the body has ended the transaction itself');
    await fence(database, 'accounts', { token: 5 }, set(30));
    expect(balance()).toBe(30);
  });

  it('installs a floor that its holder raises, and lets those who share it in', async () => {
    const holder = { token: 9, floor: 5 };
    await fence(database, 'accounts', holder, set(20));
    await fence(database, 'accounts', { token: 7, floor: 5 }, set(25));
    expect(highest(database, 'accounts')).toBe(5);
    holder.floor = 8;
    await fence(database, 'accounts', holder, set(30));
    expect(highest(database, 'accounts')).toBe(8);
    expect(await failureOf(fence(database, 'accounts', { token: 7, floor: 5 }, set(40)))).toMatchObject({ highest: 8 });
  });

  it('knows the highest token', async () => {
    await fence(database, 'accounts', { token: Number.MAX_SAFE_INTEGER }, set(20));
    const refused = await failureOf(install(database, 'accounts', { token: Number.MAX_SAFE_INTEGER - 1 }));
    expect(refused).toMatchObject({ highest: Number.MAX_SAFE_INTEGER });
  });

  it('keeps names apart, whatever is in them', async () => {
    const scopes = ['Jobs', 'jobs', 'jobs ', 'jöbs', "jobs'; DROP TABLE account; --", ':jobs', '?'];
    for (const [place, scope] of scopes.entries()) await install(database, scope, { token: 10 - place });
    expect(scopes.map((scope) => highest(database, scope))).toEqual([10, 9, 8, 7, 6, 5, 4]);
  });

  it('asks whether the lock is held, at its beginning and before the commit', async () => {
    const lost = new Error('lock lost');
    let asked = 0;
    const holderUntil = (count: number) => ({
      token: 5,
      assertHeld: () => {
        asked += 1;
        if (asked > count) throw lost;
      },
    });
    expect(await failureOf(fence(database, 'accounts', holderUntil(0), set(20)))).toBe(lost);
    asked = 0;
    expect(await failureOf(fence(database, 'accounts', holderUntil(1), set(20)))).toBe(lost);
    expect(balance()).toBe(10);
    asked = 0;
    await fence(database, 'accounts', holderUntil(2), set(20));
    expect(balance()).toBe(20);
  });

  it('that a signal ends does not begin, or is rolled back', async () => {
    const early = { token: 5, signal: AbortSignal.abort('lost') };
    expect(await failureOf(fence(database, 'accounts', early, set(20)))).toMatchObject({
      code: 'ABORTED',
      cause: 'lost',
    });
    const aborter = new AbortController();
    const late = fence(database, 'accounts', { token: 5, signal: aborter.signal }, (tx) => {
      set(20)(tx);
      aborter.abort('lost');
    });
    expect(await failureOf(late)).toMatchObject({ code: 'ABORTED', indeterminate: false, cause: 'lost' });
    expect(balance()).toBe(10);
  });

  it('leaves the wait of the connection as it was', async () => {
    database.exec('PRAGMA busy_timeout = 1234');
    await fence(database, 'accounts', { token: 5 }, set(20));
    expect(database.prepare('PRAGMA busy_timeout').get()).toMatchObject({ timeout: 1234 });
  });

  it('within another one is refused, and leaves that alone', async () => {
    database.exec('BEGIN');
    set(15)(database);
    const error = await failureOf(fence(database, 'accounts', { token: 5 }, set(20)));
    expect(error).toMatchObject({ code: 'RESOURCE', retryable: false });
    expect(String(error)).toContain('commit or roll back before, on this connection');
    database.exec('COMMIT');
    expect(balance()).toBe(15);
  });

  it('on a closed database is told so', async () => {
    database.close();
    for (const call of [
      () => fence(database, 'accounts', { token: 5 }, set(20)),
      () => install(database, 'accounts', { token: 5 }),
      () => highest(database, 'accounts'),
      () => migrate(database),
    ]) {
      expect(await failureOf(call)).toMatchObject({ name: 'FenceError', code: 'CONNECTION' });
    }
  });

  it('on a database that was closed since the last call is told so', async () => {
    await fence(database, 'accounts', { token: 5 }, set(20));
    database.close();
    for (const call of [
      () => fence(database, 'accounts', { token: 5 }, set(30)),
      () => install(database, 'accounts', { token: 5 }),
      () => highest(database, 'accounts'),
    ]) {
      expect(await failureOf(call)).toMatchObject({ name: 'FenceError', code: 'CONNECTION' });
    }
  });

  it('leaves nothing open behind it: others may write, drop its tables and make them again', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-sqlite-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'jobs.db');
    const [one, two] = [open(file), open(file)];
    one.exec('PRAGMA journal_mode = WAL');
    migrate(one);
    await install(one, 'accounts', { token: 5 });
    await fence(one, 'accounts', { token: 5 }, () => undefined);
    two.exec('DROP TABLE holdfast_fence');
    expect(await failureOf(install(one, 'accounts', { token: 5 }))).toMatchObject({ code: 'SCHEMA_MISSING' });
    migrate(two);
    await install(one, 'accounts', { token: 3 });
    one.close();
    await install(two, 'accounts', { token: 4 });
    expect(highest(two, 'accounts')).toBe(4);
    // Nothing of the first connection holds the log.
    expect(two.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
    two.close();
  });

  it('whose body closes the database is told so, and nothing of it is there', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-sqlite-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'jobs.db');
    const closed = open(file);
    migrate(closed);
    closed.exec('CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO account VALUES (1, 10)');
    const call = fence(closed, 'accounts', { token: 5 }, (tx) => {
      set(20)(tx);
      tx.close();
    });
    expect(await failureOf(call)).toMatchObject({ name: 'FenceError', code: 'CONNECTION', indeterminate: false });
    const again = open(file);
    expect([balance(again), highest(again, 'accounts')]).toEqual([10, 5]);
    again.close();
  });

  it('on a file that is no database is told so', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-sqlite-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'jobs.db');
    writeFileSync(file, 'a page that somebody saved'.repeat(100));
    const other = open(file);
    onTestFinished(() => void other.close());
    for (const call of [
      () => fence(other, 'accounts', { token: 5 }, set(20)),
      () => install(other, 'accounts', { token: 5 }),
      () => highest(other, 'accounts'),
      () => migrate(other),
    ]) {
      expect(await failureOf(call)).toMatchObject({ name: 'FenceError', code: 'RESOURCE', retryable: false });
    }
  });

  it('waits for nobody within one process, however many calls there are', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, place) => {
        const token = 1 + ((place * 79) % 100);
        const result = await failureOf(fence(database, 'accounts', { token }, set(token)));
        return result === undefined ? 'written' : result instanceof StaleTokenError ? 'stale' : result;
      }),
    );
    expect([...new Set(outcomes)].filter((outcome) => outcome !== 'written' && outcome !== 'stale')).toEqual([]);
    expect([balance(), highest(database, 'accounts')]).toEqual([100, 100]);
  });

  describe('without its tables', () => {
    const everyCall = (on: OpenDatabase): readonly (() => unknown)[] => [
      () => fence(on, 'jobs', { token: 5 }, () => undefined),
      () => install(on, 'jobs', { token: 5 }),
      () => highest(on, 'jobs'),
    ];

    it('says what to do', async () => {
      const empty = open();
      for (const call of everyCall(empty)) {
        const error = await failureOf(call);
        expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_MISSING', retryable: false });
        expect(String(error)).toContain('run migrate(database)');
      }
      empty.exec(SCHEMA_SQL);
      empty.exec(SCHEMA_SQL);
      await install(empty, 'jobs', { token: 5 });
      migrate(empty);
      expect(highest(empty, 'jobs')).toBe(5);
      empty.close();
    });

    it('of this version, but a later one, says so', async () => {
      migrateTo(database, SCHEMA_VERSION + 1);
      for (const call of [...everyCall(database), () => migrate(database)]) {
        const error = await failureOf(call);
        expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_VERSION' });
        expect(String(error)).toContain('made by a newer version of @holdfast/fence-sqlite');
      }
      expect(database.prepare('SELECT version FROM holdfast_fence_version').get()).toMatchObject({
        version: SCHEMA_VERSION + 1,
      });
    });

    it('of this version, but an earlier one, asks for migrate, which keeps the tokens', async () => {
      await install(database, 'jobs', { token: 5 });
      database.exec(`UPDATE holdfast_fence_version SET version = ${SCHEMA_VERSION - 1}`);
      expect(String(await failureOf(install(database, 'jobs', { token: 7 })))).toMatch(/run migrate\(database\)$/);
      migrate(database);
      expect(highest(database, 'jobs')).toBe(5);
    });

    it('but with others of their names says so', async () => {
      const odd = open();
      odd.exec('CREATE TABLE holdfast_fence (resource TEXT)');
      migrate(odd);
      expect(await failureOf(install(odd, 'jobs', { token: 7 }))).toMatchObject({ code: 'SCHEMA_VERSION' });
      odd.close();
    });

    it('takes no floors that are none, from whatever language they come', async () => {
      for (const floor of ['0', '-1', '9007199254740992', 'NULL', "'x'", '1.5']) {
        expect(
          await failureOf(() => database.exec(`INSERT INTO holdfast_fence VALUES ('a', ${floor})`)),
        ).toBeInstanceOf(Error);
      }
    });
  });

  it('on a file that is read only says so', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-sqlite-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'file.db');
    const writable = open(file);
    migrate(writable);
    writable.close();
    const reading = open(file);
    reading.exec('PRAGMA query_only = ON');
    const error = await failureOf(install(reading, 'jobs', { token: 7 }));
    expect(error).toMatchObject({ code: 'RESOURCE', retryable: false });
    expect(String(error)).toContain('open the database for writing');
    reading.close();
  });
});
