import { setTimeout as sleep } from 'node:timers/promises';
import { conformanceCases, runConformance } from '@holdfast/fence-conformance';
import type mysql from 'mysql2/promise';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fence, FenceError, highest, install, migrate, StaleTokenError, type FenceOptions } from '../../src/index.ts';
import { cellsOn } from '../support/cells.ts';
import { failureOf, freshDatabase, gate, poolOn, statementsOf, until, waiting } from '../support/databases.ts';
import { proxyTo } from '../support/proxy.ts';
import { hasMariaDb, startMariaDb, type MariaDb } from '../support/server.ts';

const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;

interface AccountRow extends mysql.RowDataPacket {
  readonly balance: number;
}

describe.skipIf(!hasMariaDb())('a fenced transaction', () => {
  let server: MariaDb;
  let config: mysql.PoolOptions;
  let pool: mysql.Pool;

  beforeAll(async () => {
    server = await startMariaDb();
    config = server.config(await freshDatabase(server));
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    pool = poolOn(config);
    await migrate(pool);
    await pool.query('DROP TABLE IF EXISTS account');
    await pool.query('CREATE TABLE account (id INT PRIMARY KEY, balance INT) ENGINE = InnoDB');
    await pool.query('INSERT INTO account VALUES (1, 10)');
    await pool.query('DELETE FROM holdfast_fence');
  });

  const set = (balance: number) => async (tx: mysql.PoolConnection) =>
    void (await tx.query('UPDATE account SET balance = ?', [balance]));
  const balance = async (on: mysql.Pool | mysql.PoolConnection = pool): Promise<number | undefined> =>
    (await on.query<AccountRow[]>('SELECT balance FROM account'))[0][0]?.balance;

  it('returns what its body returns, and gives its connection back as it was', async () => {
    const small = poolOn({ ...config, connectionLimit: 1 });
    const settings = 'SELECT @@autocommit, @@wait_timeout, @@innodb_lock_wait_timeout, CONNECTION_ID()';
    const [before] = await small.query(settings);
    const result = await fence(small, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      return await balance(tx);
    });
    expect([result, await balance(), await highest(pool, 'accounts')]).toEqual([20, 20, 5]);
    expect((await small.query(settings))[0]).toEqual(before);
  });

  it('that is stale is told which token is ahead of it, and its body is not run', async () => {
    await install(pool, 'accounts', { token: 7 });
    let ran = false;
    const error = await failureOf(
      fence(pool, 'accounts', { token: 5 }, async () => {
        ran = true;
      }),
    );
    expect(error).toBeInstanceOf(StaleTokenError);
    expect(error).toMatchObject({ code: 'STALE_TOKEN', scope: 'accounts', token: 5, highest: 7 });
    expect(ran).toBe(false);
    expect(await highest(pool, 'nobody was here')).toBe(0);
  });

  it('whose body fails is rolled back, and passes the error on as it is', async () => {
    const own = new Error('no funds');
    const thrown = fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      throw own;
    });
    expect(await failureOf(thrown)).toBe(own);
    const refused = fence(pool, 'accounts', { token: 5 }, (tx) => tx.query('INSERT INTO account VALUES (1, 1)'));
    expect(await failureOf(refused)).toMatchObject({ code: 'ER_DUP_ENTRY' });
    expect(await balance()).toBe(10);
  });

  it('of a holder that has installed its token waits for one statement more than without a fence', async () => {
    const single = poolOn({ ...config, connectionLimit: 1 });
    const texts = statementsOf(single);
    const holder = { token: 5 };
    await fence(single, 'accounts', holder, set(20));
    await single.query('SELECT 1');
    const first = texts.length;
    await fence(single, 'accounts', holder, set(30));
    await single.query('SELECT 1');
    expect(texts.slice(first).map((text) => text.replace(/\s[^]*/, ''))).toEqual([
      'SET', // as START TRANSACTION
      'SELECT', // the check
      'UPDATE',
      'COMMIT',
      'SET', // of the connection, which the caller does not wait for
      'SELECT',
    ]);
  });

  it('reads floors however the pool reads rows', async () => {
    const odd = poolOn({
      ...config,
      rowsAsArray: true,
      nestTables: '_',
      namedPlaceholders: true,
      dateStrings: true,
      typeCast: () => 'odd',
    });
    await fence(odd, 'accounts', { token: Number.MAX_SAFE_INTEGER }, set(20));
    expect(await highest(odd, 'accounts')).toBe(Number.MAX_SAFE_INTEGER);
    const refused = await failureOf(install(odd, 'accounts', { token: Number.MAX_SAFE_INTEGER - 1 }));
    expect(refused).toMatchObject({ highest: Number.MAX_SAFE_INTEGER });
  });

  it('is not led astray by the modes of a connection', async () => {
    const odd = poolOn({ ...config, connectionLimit: 1 });
    await odd.query("SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT', completion_type = 'CHAIN'");
    const scope = "jobs\\'; DROP TABLE account; -- ";
    await fence(odd, scope, { token: 5 }, set(20));
    expect([await highest(odd, scope), await highest(pool, scope), await balance()]).toEqual([5, 5, 20]);
  });

  it('installs again where an operator has reset the scope', async () => {
    const holder = { token: 5 };
    await fence(pool, 'accounts', holder, set(20));
    await pool.query('DELETE FROM holdfast_fence');
    await fence(pool, 'accounts', holder, set(30));
    expect([await balance(), await highest(pool, 'accounts')]).toEqual([30, 5]);
  });

  it('installs a floor that its holder raises', async () => {
    const holder = { token: 9, floor: 5 };
    await fence(pool, 'accounts', holder, set(20));
    expect(await highest(pool, 'accounts')).toBe(5);
    holder.floor = 8;
    await fence(pool, 'accounts', holder, set(30));
    expect(await highest(pool, 'accounts')).toBe(8);
  });

  describe('of a new holder, while an older one is at work', () => {
    async function oldHolder(written: number, options: FenceOptions = {}) {
      const [wrote, goOn] = [gate(), gate()];
      const done = fence(
        pool,
        'accounts',
        { token: 5 },
        async (tx) => {
          await set(written)(tx);
          wrote.open();
          await goOn.opened;
        },
        options,
      );
      done.catch(() => undefined);
      await wrote.opened;
      return { done, goOn };
    }

    it.each(LEVELS)('waits for it and reads what it has committed, %s', async (isolation) => {
      const old = await oldHolder(50);
      const read = fence(pool, 'accounts', { token: 7 }, balance, { isolation });
      await waiting(poolOn(server.config()), 1);
      old.goOn.open();
      await old.done;
      expect(await read).toBe(50);
    });

    /** What somebody writes who knows the rule and not the moment: reads are of the first one that has no lock. */
    async function naive(begin: readonly string[]): Promise<number | undefined> {
      const [first, second] = [await pool.getConnection(), await pool.getConnection()];
      await pool.query('DROP TABLE IF EXISTS naive');
      await pool.query('CREATE TABLE naive (token BIGINT PRIMARY KEY) ENGINE = InnoDB');
      await pool.query('INSERT INTO naive VALUES (5)');
      await pool.query('UPDATE account SET balance = 10');
      try {
        await first.query('START TRANSACTION');
        await first.query('SELECT token FROM naive LOCK IN SHARE MODE');
        await first.query('UPDATE account SET balance = 50');
        for (const statement of begin) await second.query(statement);
        const waits = second.query('UPDATE naive SET token = 7 WHERE token < 7');
        await waiting(poolOn(server.config()), 1);
        await first.query('COMMIT');
        await waits;
        return await balance(second);
      } finally {
        for (const connection of [first, second]) {
          await connection.query('ROLLBACK');
          connection.release();
        }
      }
    }

    it('would read what was before it, had it read anything before the fence', async () => {
      expect(await naive(['START TRANSACTION', 'SELECT balance FROM account'])).toBe(10);
      expect(await naive(['START TRANSACTION WITH CONSISTENT SNAPSHOT'])).toBe(10);
    });

    it('would read it with the fence as the first statement, or READ COMMITTED', async () => {
      expect(await naive(['START TRANSACTION'])).toBe(50);
      const committed = ['SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'START TRANSACTION'];
      expect(await naive([...committed, 'SELECT balance FROM account'])).toBe(50);
    });

    it('gives up after waitMs, and has installed nothing', async () => {
      const old = await oldHolder(50);
      const error = await failureOf(fence(pool, 'accounts', { token: 7 }, set(70), { waitMs: 1_000 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', retryable: true, indeterminate: false });
      expect(String(error)).toContain('for longer than waitMs');
      old.goOn.open();
      await old.done;
      expect([await balance(), await highest(pool, 'accounts')]).toEqual([50, 5]);
    });

    it('does not wait for longer than idleMs for one that is stopped', async () => {
      const old = await oldHolder(50, { idleMs: 1_000 });
      await fence(pool, 'accounts', { token: 7 }, set(70));
      old.goOn.open();
      const error = await failureOf(old.done);
      expect(error).toMatchObject({ name: 'FenceError', code: 'CONNECTION', indeterminate: false });
      expect(String(error)).toContain('idleMs');
      expect(await balance()).toBe(70);
    });

    it('gets in although transactions of the older one overlap all the time', async () => {
      let over = false;
      const zombie = async (): Promise<void> => {
        while (!over) {
          const entering = fence(pool, 'accounts', { token: 5 }, async () => await sleep(20));
          if ((await entering.catch((error: unknown) => error)) instanceof StaleTokenError) return;
        }
      };
      const zombies = [zombie(), sleep(7).then(zombie), sleep(14).then(zombie)];
      try {
        await sleep(50);
        await install(pool, 'accounts', { token: 7 }, { waitMs: 20_000 });
      } finally {
        over = true;
        await Promise.all(zombies);
      }
      expect(await highest(pool, 'accounts')).toBe(7);
    });
  });

  it('is in no deadlock with others of any tokens', { timeout: 120_000 }, async () => {
    const many = poolOn({ ...config, connectionLimit: 40 });
    let last = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 800 }, async (_, place) => {
        const token = 1 + ((place * 7919) % 400);
        const result = await fence(many, 'accounts', { token }, async (tx) => {
          await set(token)(tx);
          last = Math.max(last, token);
        }).catch((error: unknown) => error);
        return result === undefined ? 'written' : result instanceof StaleTokenError ? 'stale' : result;
      }),
    );
    expect([...new Set(outcomes)].filter((outcome) => outcome !== 'written' && outcome !== 'stale')).toEqual([]);
    expect(last).toBe(400);
    expect(await balance()).toBe(400);
  });

  it('is in no deadlock with first installs of many scopes', async () => {
    const many = poolOn({ ...config, connectionLimit: 20 });
    const scopes = Array.from({ length: 100 }, (_, place) => `scope ${(place * 37) % 50}`);
    await Promise.all(scopes.map((scope) => fence(many, scope, { token: 5 }, balance)));
    expect(await highest(pool, 'scope 49')).toBe(5);
  });

  it('would be in a deadlock if it shared the row first, and raised the token then', async () => {
    const [first, second] = [await pool.getConnection(), await pool.getConnection()];
    await install(pool, 'naive', { token: 5 });
    for (const connection of [first, second]) {
      await connection.query('START TRANSACTION');
      await connection.query('SELECT floor FROM holdfast_fence LOCK IN SHARE MODE');
    }
    const raised = await Promise.all(
      [first, second].map((connection, place) =>
        connection
          .query('UPDATE holdfast_fence SET floor = ?', [6 + place])
          .catch((error: { readonly code: string }) => error.code),
      ),
    );
    expect(raised).toContain('ER_LOCK_DEADLOCK');
    for (const connection of [first, second]) {
      await connection.query('ROLLBACK');
      connection.release();
    }
  });

  it.each(['read committed', 'serializable'] as const)('keeps the promises of one at a time, %s', async (isolation) => {
    const database = await freshDatabase(server);
    for (const stop of ['before its write', 'behind its write'] as const) {
      const cells = await cellsOn(server, database, { stop, isolation });
      const cases = conformanceCases.filter(
        ({ name, needs }) => !needs.includes('crash') && !/at once|writes on/.test(name),
      );
      const results = await runConformance(cells.open, cases);
      await cells.close();
      expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
    }
  });

  it('works where the connections of the application do not commit by themselves', async () => {
    const manual = poolOn({ ...config, connectionLimit: 1 });
    await manual.query('SET autocommit = 0');
    await install(manual, 'accounts', { token: 5 });
    await fence(manual, 'accounts', { token: 7 }, set(20));
    expect([await balance(), await highest(pool, 'accounts')]).toEqual([20, 7]);
    const [[row]] = await manual.query<mysql.RowDataPacket[]>('SELECT @@autocommit AS autocommit');
    expect(row).toEqual({ autocommit: 0 });
  });

  it('refuses a connection on which somebody left a transaction open, whose reads would be old', async () => {
    const manual = poolOn({ ...config, connectionLimit: 1 });
    await manual.query('SET autocommit = 0');
    await balance(manual);
    const error = await failureOf(fence(manual, 'accounts', { token: 7 }, balance));
    expect(error).toMatchObject({ name: 'FenceError', code: 'RESOURCE' });
    expect(String(error)).toContain('with a transaction that was left open');
    expect(await fence(manual, 'accounts', { token: 7 }, balance)).toBe(10);
  });

  describe('that its body ends', () => {
    it.each([
      'COMMIT',
      ' begin',
      'START TRANSACTION',
      '/* so */ ROLLBACK',
      '-- so\nCOMMIT',
      'ROLLBACK WORK',
      "XA END 'x'",
      'LOCK TABLES account WRITE',
      'unlock tables',
    ])('by %s is refused before that is sent', async (text) => {
      const call = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(20)(tx);
        await tx.query(text);
      });
      const error = await failureOf(call);
      expect(error).toMatchObject({ name: 'FenceError', code: 'INVALID_ARGUMENT' });
      expect(String(error)).toContain('would end the transaction');
      expect(await balance()).toBe(10);
    });

    it.each(['commit', 'rollback', 'beginTransaction', 'release', 'destroy', 'reset', 'end', 'changeUser'] as const)(
      'by tx.%s() is refused before that is sent',
      async (method) => {
        const call = fence(pool, 'accounts', { token: 5 }, async (tx) => {
          await set(20)(tx);
          await (tx[method] as () => Promise<void>)();
        });
        expect(String(await failureOf(call))).toContain(`tx.${method}() would end the transaction`);
        expect(await balance()).toBe(10);
      },
    );

    it.each([
      'CREATE TABLE IF NOT EXISTS other (id INT)',
      'ALTER TABLE account COMMENT = "x"',
      'ANALYZE TABLE account',
      '/*!40101 COMMIT */',
      'SET autocommit = 1',
      // It fails, and has committed what was before it.
      'CREATE TABLE account (id INT)',
    ])('by %s writes nothing after that, and says so', async (text) => {
      const call = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await tx.query(text).catch(() => undefined);
        await set(20)(tx).catch(() => undefined);
      });
      const error = await failureOf(call);
      expect(error).toMatchObject({ name: 'FenceError', code: 'RESOURCE', indeterminate: true });
      expect(String(error)).toContain('has ended the transaction, as DDL does');
      expect(await balance()).toBe(10);
    });

    it('goes on behind savepoints, temporary tables and statements that fail', async () => {
      await fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(20)(tx);
        await tx.query('SAVEPOINT here');
        await set(30)(tx);
        await tx.query('ROLLBACK TO SAVEPOINT here');
        await tx.query('CREATE TEMPORARY TABLE scratch (id INT)');
        await tx.query('INSERT INTO account VALUES (1, 1)').catch(() => undefined);
        await tx.execute('UPDATE account SET balance = balance + ?', [1]);
      });
      expect(await balance()).toBe(21);
    });
  });

  it('that the database has rolled back is over, although the body goes on', async () => {
    const rival = await pool.getConnection();
    await pool.query('INSERT INTO account VALUES (2, 10)');
    await rival.query('START TRANSACTION');
    // What has written more is not the one that is rolled back.
    for (let id = 10; id < 40; id += 1) await rival.query('INSERT INTO account VALUES (?, 0)', [id]);
    await rival.query('UPDATE account SET balance = 1 WHERE id = 2');
    const call = fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await tx.query('UPDATE account SET balance = 20 WHERE id = 1');
      const waits = tx.query('UPDATE account SET balance = 20 WHERE id = 2').catch(() => undefined);
      await waiting(poolOn(server.config()), 1);
      await rival.query('UPDATE account SET balance = 2 WHERE id = 1');
      await waits;
      await rival.query('ROLLBACK');
      await tx.query('UPDATE account SET balance = 99 WHERE id = 1').catch(() => undefined);
    });
    const error = await failureOf(call);
    rival.release();
    expect(error).toMatchObject({ name: 'FenceError', code: 'RESOURCE', retryable: true, indeterminate: false });
    expect(String(error)).toContain('the database rolled back, and nothing was written');
    expect(await balance()).toBe(10);
  });

  it('sends nothing that the body has not waited for', async () => {
    let late = (): Promise<unknown> => Promise.resolve();
    await fence(pool, 'accounts', { token: 5 }, async (tx) => {
      late = () => set(99)(tx);
    });
    expect(String(await failureOf(late()))).toContain('await every statement in the body');
    expect(await balance()).toBe(10);
  });

  describe('that a signal ends', () => {
    it('before it began sends nothing', async () => {
      const sent = statementsOf(pool);
      const error = await failureOf(fence(pool, 'accounts', { token: 5, signal: AbortSignal.abort('lost') }, set(20)));
      expect(error).toMatchObject({ code: 'ABORTED', indeterminate: false, cause: 'lost' });
      expect(sent).toEqual([]);
    });

    it.each(['of the holder', 'of the call'])('in its body is rolled back, by one %s', async (whose) => {
      const [aborter, running] = [new AbortController(), gate()];
      const { signal } = aborter;
      const [holder, options] = whose === 'of the holder' ? [{ token: 5, signal }, {}] : [{ token: 5 }, { signal }];
      const aborted = fence(
        pool,
        'accounts',
        holder,
        async (tx) => {
          await set(20)(tx);
          running.open();
          await new Promise(() => undefined);
        },
        options,
      );
      await running.opened;
      aborter.abort();
      expect(await failureOf(aborted)).toMatchObject({ name: 'FenceError', code: 'ABORTED', indeterminate: false });
      await install(pool, 'accounts', { token: 7 }); // when the server has rolled back
      expect(await balance()).toBe(10);
    });

    it('while it waits for a connection takes none', async () => {
      const small = poolOn({ ...config, connectionLimit: 1 });
      const aborter = new AbortController();
      const busy = await small.getConnection();
      const aborted = fence(small, 'accounts', { token: 5 }, set(20), { signal: aborter.signal });
      aborter.abort();
      expect(await failureOf(aborted)).toMatchObject({ code: 'ABORTED' });
      busy.release();
      await fence(small, 'accounts', { token: 5 }, set(30));
      expect(await balance()).toBe(30);
    });
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
    expect(await failureOf(fence(pool, 'accounts', holderUntil(0), set(20)))).toBe(lost);
    asked = 0;
    expect(await failureOf(fence(pool, 'accounts', holderUntil(1), set(20)))).toBe(lost);
    expect(await balance()).toBe(10);
    asked = 0;
    await fence(pool, 'accounts', holderUntil(2), set(20));
    expect(await balance()).toBe(20);
  });

  describe('whose database goes away', () => {
    const endOf = async (tx: mysql.PoolConnection): Promise<void> => void (await pool.query(`KILL ${tx.threadId}`));

    it('in the body has written nothing', async () => {
      const call = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(20)(tx);
        await endOf(tx);
        await set(30)(tx);
      });
      expect(await failureOf(call)).toMatchObject({ name: 'FenceError', code: 'CONNECTION', indeterminate: false });
      expect(await balance()).toBe(10);
    });

    it('while the body does something else has written nothing, and the process goes on', async () => {
      const meanwhile = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(20)(tx);
        let ended = false;
        tx.once('end', () => (ended = true));
        tx.once('error', () => (ended = true));
        await endOf(tx);
        await until('the connection ends', () => ended);
      });
      expect(await failureOf(meanwhile)).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false });
      expect(await balance()).toBe(10);
    });

    it('between a commit and its answer may have written', async () => {
      const proxy = await proxyTo(server.port);
      const through = poolOn({ ...config, port: proxy.port });
      await install(through, 'accounts', { token: 5 });
      proxy.loseAnswerTo('COMMIT AND NO CHAIN');
      const error = await failureOf(fence(through, 'accounts', { token: 5 }, set(20)));
      expect(error).toMatchObject({ code: 'CONNECTION', retryable: false, indeterminate: true });
      expect(String(error)).toContain('read what was written before doing it again');
      expect(await balance()).toBe(20);
    });

    it('before it began tells so', async () => {
      const nobody = poolOn({ ...config, port: 1 });
      for (const call of [
        () => fence(nobody, 'accounts', { token: 5 }, set(20)),
        () => install(nobody, 'accounts', { token: 5 }),
        () => highest(nobody, 'accounts'),
        () => migrate(nobody),
      ]) {
        expect(await failureOf(call())).toMatchObject({ name: 'FenceError', code: 'CONNECTION', retryable: true });
      }
    });

    it('has its token when it is back', async () => {
      await install(pool, 'accounts', { token: 7 });
      await server.crash();
      expect(await highest(poolOn(config), 'accounts')).toBe(7);
      expect(await failureOf(fence(poolOn(config), 'accounts', { token: 5 }, set(20)))).toBeInstanceOf(FenceError);
    });
  });
});
