import { setTimeout as sleep } from 'node:timers/promises';
import { conformanceCases, runConformance } from '@holdfast/fence-conformance';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fence, FenceError, highest, install, migrate, StaleTokenError, type FenceOptions } from '../../src/index.ts';
import { cellsOn } from '../support/cells.ts';
import { failureOf, freshDatabase, gate, poolOn, statementsOf, waiting } from '../support/databases.ts';
import { proxyTo } from '../support/proxy.ts';
import { postgresPrograms, startPostgres, type Postgres } from '../support/server.ts';

const bin = postgresPrograms();
const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;

describe('a fenced transaction', () => {
  let server: Postgres;
  let url: string;
  let pool: pg.Pool;

  beforeAll(async () => {
    if (bin === undefined) return;
    server = await startPostgres(bin);
    url = await freshDatabase(server);
  });
  afterAll(() => server?.stop());
  beforeEach(async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    pool = poolOn(url);
    await migrate(pool);
    await pool.query('DROP TABLE IF EXISTS account; CREATE TABLE account (id int PRIMARY KEY, balance int)');
    await pool.query('INSERT INTO account VALUES (1, 10); DELETE FROM holdfast.fence');
  });

  const set = (balance: number) => async (tx: pg.PoolClient) =>
    void (await tx.query('UPDATE account SET balance = $1', [balance]));
  const balance = async (on: pg.Pool | pg.PoolClient = pool): Promise<number | undefined> =>
    (await on.query<{ balance: number }>('SELECT balance FROM account')).rows[0]?.balance;

  it('returns what its body returns, and gives its connection back', async () => {
    const result = await fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      return await balance(tx);
    });
    expect([result, await balance(), await highest(pool, 'accounts')]).toEqual([20, 20, 5]);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
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
    expect(await failureOf(refused)).toMatchObject({ code: '23505' });
    expect([await balance(), pool.totalCount, pool.idleCount]).toEqual([10, 1, 1]);
  });

  it('of a holder that has installed its token waits for the server as often as without a fence', async () => {
    const watched = poolOn(url);
    const sent = statementsOf(watched);
    const holder = { token: 5 };
    await fence(watched, 'accounts', holder, set(20));
    const first = sent.length;
    await fence(watched, 'accounts', holder, set(30));
    const [begin = '', ...rest] = sent.slice(first);
    expect(begin).toMatch(
      /^BEGIN ISOLATION LEVEL READ COMMITTED; (SET LOCAL [^;]+; ){3}SELECT holdfast.fence_verify\(/,
    );
    expect(rest).toEqual(['UPDATE account SET balance = $1', 'COMMIT']);
    expect(first).toBe(4);
  });

  it('installs again where an operator has reset the scope', async () => {
    const holder = { token: 5 };
    await fence(pool, 'accounts', holder, set(20));
    await pool.query('DELETE FROM holdfast.fence');
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

    // The trap: at these levels, a transaction that waits for the older one in its first statement reads what was before that.
    it.each(LEVELS)('waits for it and reads what it has committed, %s', async (isolation) => {
      const old = await oldHolder(50);
      const read = fence(pool, 'accounts', { token: 7 }, balance, { isolation });
      await waiting(poolOn(url), 1);
      old.goOn.open();
      await old.done;
      expect(await read).toBe(50);
    });

    it('would read what was before it, with an install in the same REPEATABLE READ transaction', async () => {
      const [first, second] = [await pool.connect(), await pool.connect()];
      const naive = 'UPDATE fence SET token = $1 WHERE token < $1';
      await first.query('DROP TABLE IF EXISTS fence; CREATE TABLE fence (token bigint); INSERT INTO fence VALUES (5)');
      await first.query('BEGIN; SELECT 1 FROM fence FOR SHARE');
      await first.query('UPDATE account SET balance = 50');
      await second.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      const waits = second.query(naive, [7]);
      await waiting(poolOn(url), 1);
      await first.query('COMMIT');
      await waits;
      expect(await balance(second)).toBe(10);
      await second.query('ROLLBACK');
      for (const client of [first, second]) client.release();
    });

    it('gives up after waitMs, and has installed nothing', async () => {
      const old = await oldHolder(50);
      const error = await failureOf(fence(pool, 'accounts', { token: 7 }, set(70), { waitMs: 50 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', retryable: true, indeterminate: false });
      expect(String(error)).toContain('for longer than waitMs');
      old.goOn.open();
      await old.done;
      expect([await balance(), await highest(pool, 'accounts')]).toEqual([50, 5]);
    });

    it('does not wait for longer than idleMs for one that is stopped', async () => {
      const old = await oldHolder(50, { idleMs: 200 });
      await fence(pool, 'accounts', { token: 7 }, set(70));
      old.goOn.open();
      const error = await failureOf(old.done);
      expect(error).toMatchObject({ name: 'FenceError', code: 'TIMEOUT', indeterminate: false });
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
    const many = poolOn(url, { max: 40 });
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

  it('would be in a deadlock if it shared the row first, and raised the token then', async () => {
    const [first, second] = [await pool.connect(), await pool.connect()];
    await first.query('DROP TABLE IF EXISTS fence; CREATE TABLE fence (token bigint); INSERT INTO fence VALUES (5)');
    for (const client of [first, second]) await client.query('BEGIN; SELECT token FROM fence FOR SHARE');
    const raised = await Promise.all(
      [first, second].map((client, place) =>
        client
          .query('UPDATE fence SET token = $1', [6 + place])
          .catch((error: { readonly code: string }) => error.code),
      ),
    );
    expect(raised).toContain('40P01');
    for (const client of [first, second]) {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it.each(['repeatable read', 'serializable'] as const)(
    'keeps the promises of one at a time, %s',
    async (isolation) => {
      for (const stop of ['before its write', 'behind its write'] as const) {
        const cells = await cellsOn(server, { stop, isolation });
        // Of many at once some are refused at these levels, as without a fence.
        const cases = conformanceCases.filter(
          ({ name, needs }) => !needs.includes('crash') && !/at once|writes on|in some order/.test(name),
        );
        const results = await runConformance(cells.open, cases);
        await cells.close();
        expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
      }
    },
  );

  it('installs where the default of the database is another isolation', async () => {
    const strict = poolOn(url, { options: '-c default_transaction_isolation=serializable -c synchronous_commit=off' });
    await install(strict, 'accounts', { token: 5 });
    await fence(strict, 'accounts', { token: 7 }, set(20));
    expect([await balance(), await highest(pool, 'accounts')]).toEqual([20, 7]);
    expect(await failureOf(install(strict, 'accounts', { token: 6 }))).toBeInstanceOf(StaleTokenError);
    expect(strict.idleCount).toBe(strict.totalCount);
  });

  describe('that a signal ends', () => {
    it('before it began sends nothing', async () => {
      const unused = poolOn(url);
      const error = await failureOf(
        fence(unused, 'accounts', { token: 5, signal: AbortSignal.abort('lost') }, set(20)),
      );
      expect(error).toMatchObject({ code: 'ABORTED', indeterminate: false, cause: 'lost' });
      expect(unused.totalCount).toBe(0);
    });

    it.each(['of the holder', 'of the call'])('in its body is rolled back at once, by one %s', async (whose) => {
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
          await tx.query('SELECT pg_sleep(3600)');
        },
        options,
      );
      await running.opened;
      aborter.abort();
      expect(await failureOf(aborted)).toMatchObject({ name: 'FenceError', code: 'ABORTED', indeterminate: false });
      expect(await balance()).toBe(10);
    });

    it('while it waits for an older holder lets that go on', async () => {
      const [aborter, goOn, wrote] = [new AbortController(), gate(), gate()];
      const old = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(50)(tx);
        wrote.open();
        await goOn.opened;
      });
      await wrote.opened;
      const aborted = install(pool, 'accounts', { token: 7 }, { signal: aborter.signal });
      await waiting(poolOn(url), 1);
      aborter.abort();
      expect(await failureOf(aborted)).toMatchObject({ code: 'ABORTED' });
      goOn.open();
      await old;
      expect(await balance()).toBe(50);
    });

    it('while it waits for a connection takes none', async () => {
      const small = poolOn(url, { max: 1 });
      const aborter = new AbortController();
      const busy = await small.connect();
      const aborted = fence(small, 'accounts', { token: 5 }, set(20), { signal: aborter.signal });
      aborter.abort();
      expect(await failureOf(aborted)).toMatchObject({ code: 'ABORTED' });
      busy.release();
      await fence(small, 'accounts', { token: 5 }, set(30));
      expect([await balance(), small.totalCount]).toEqual([30, 1]);
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

  it('tells that nothing was written where the body goes on behind a statement that failed', async () => {
    const swallowed = fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      await tx.query('INSERT INTO account VALUES (1, 1)').catch(() => undefined);
    });
    const error = await failureOf(swallowed);
    expect(error).toMatchObject({ name: 'FenceError', code: 'RESOURCE', indeterminate: false });
    expect(String(error)).toContain('the database rolled back, nothing was written');
    expect([await balance(), pool.idleCount]).toEqual([10, pool.totalCount]);
  });

  it('tells that its body has ended the transaction itself', async () => {
    // One text of several statements, as no parameters are in it: only the server knows where each of them begins.
    const ended = fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      await tx.query('SELECT 1; COMMIT');
    });
    const error = await failureOf(ended);
    expect(error).toMatchObject({ code: 'RESOURCE', indeterminate: true });
    expect(String(error)).toContain('the body has ended the transaction itself');
  });

  it.each([
    'COMMIT',
    'end;',
    ' /* so */ rollback work',
    'START TRANSACTION',
    "PREPARE TRANSACTION 'later'",
    '-- so\nABORT',
    { text: 'COMMIT' },
  ])('refuses %j, which would end it, and nothing of it is written', async (statement) => {
    const ended = fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      await tx.query(statement);
    });
    const error = await failureOf(ended);
    expect(error).toMatchObject({ name: 'FenceError', code: 'INVALID_ARGUMENT' });
    expect(String(error)).toContain('would end the transaction');
    expect([await balance(), pool.idleCount]).toEqual([10, pool.totalCount]);
  });

  it('lets its body roll back to a savepoint', async () => {
    await fence(pool, 'accounts', { token: 5 }, async (tx) => {
      await set(20)(tx);
      await tx.query('SAVEPOINT before');
      await set(30)(tx);
      await tx.query('ROLLBACK TO SAVEPOINT before');
    });
    expect(await balance()).toBe(20);
  });

  it('does not let its body give the connection back, and sends nothing that the body sends later', async () => {
    let leaked: pg.PoolClient | undefined;
    await fence(pool, 'accounts', { token: 5 }, async (tx) => {
      leaked = tx;
      expect(() => tx.release()).toThrow('tx.release() would end the transaction');
      await set(20)(tx);
    });
    expect(() => leaked?.query('UPDATE account SET balance = 0')).toThrow('was not sent');
    expect(await balance()).toBe(20);
  });

  it('lets its body stream rows by what the driver takes instead of a text', async () => {
    const submitted = await fence(pool, 'accounts', { token: 5 }, async (tx) => {
      const query = new pg.Query<{ balance: number }>('SELECT balance FROM account');
      const rows: unknown[] = [];
      query.on('row', (row) => rows.push(row.balance));
      expect(tx.query(query)).toBe(query);
      await new Promise<void>((resolve, reject) => {
        query.on('end', () => resolve());
        query.on('error', reject);
      });
      return rows;
    });
    expect(submitted).toEqual([10]);
  });

  it('refused by a constraint at the commit was not written', async () => {
    await pool.query('DROP TABLE IF EXISTS later; CREATE TABLE later (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const error = await failureOf(
      fence(pool, 'accounts', { token: 5 }, (tx) => tx.query('INSERT INTO later VALUES (1), (1)')),
    );
    expect(error).toMatchObject({ code: 'RESOURCE', indeterminate: false, cause: { code: '23505' } });
    expect(String(error)).toContain('the database refused the commit');
  });

  describe('whose database goes away', () => {
    const endSelf = 'SELECT pg_terminate_backend(pg_backend_pid())';

    it('in the body has written nothing', async () => {
      const inQuery = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(20)(tx);
        await tx.query(endSelf);
      });
      expect(await failureOf(inQuery)).toMatchObject({ name: 'FenceError', code: 'CONNECTION', indeterminate: false });
      expect(await balance()).toBe(10);
      expect(pool.totalCount).toBe(pool.idleCount);
    });

    it('while the body does something else has written nothing, and the process goes on', async () => {
      const meanwhile = fence(pool, 'accounts', { token: 5 }, async (tx) => {
        await set(20)(tx);
        const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        const ended = new Promise((resolve) => {
          tx.once('end', resolve);
        });
        await pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
        await ended;
      });
      expect(await failureOf(meanwhile)).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false });
      expect(await balance()).toBe(10);
    });

    it('between a commit and its answer may have written', async () => {
      const proxy = await proxyTo(server.port);
      const through = poolOn(url.replace(String(server.port), String(proxy.port)));
      await install(through, 'accounts', { token: 5 });
      // As it is sent; BEGIN names a level with COMMIT in it.
      proxy.loseAnswerTo('COMMIT\0');
      const error = await failureOf(fence(through, 'accounts', { token: 5 }, set(20)));
      expect(error).toMatchObject({ code: 'CONNECTION', retryable: false, indeterminate: true });
      expect(String(error)).toContain('read what was written before doing it again');
      expect(await balance()).toBe(20);
    });

    it('before it began tells so', async () => {
      const nobody = poolOn('postgres://postgres@127.0.0.1:1/postgres');
      for (const call of [
        () => fence(nobody, 'accounts', { token: 5 }, set(20)),
        () => install(nobody, 'accounts', { token: 5 }),
        () => highest(nobody, 'accounts'),
        () => migrate(nobody),
      ]) {
        expect(await failureOf(call())).toMatchObject({ name: 'FenceError', code: 'CONNECTION', retryable: true });
      }
    });

    it('has its token when it is back, although commits were asynchronous', async () => {
      const loose = poolOn(url, { options: '-c synchronous_commit=off' });
      await install(loose, 'accounts', { token: 7 });
      await server.crash();
      expect(await highest(pool, 'accounts')).toBe(7);
      expect(await failureOf(fence(pool, 'accounts', { token: 5 }, set(20)))).toBeInstanceOf(FenceError);
    });
  });
});
