import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fence, guard, highest, install, migrate, SCHEMA_SQL } from '../../src/index.ts';
import { migrateTo } from '../../src/schema.ts';
import { schemaSql, SCHEMA_VERSION } from '../../src/sql.ts';
import { failureOf, freshDatabase, poolOn } from '../support/databases.ts';
import { postgresPrograms, query, startPostgres, type Postgres } from '../support/server.ts';

const bin = postgresPrograms();

describe('on PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    if (bin !== undefined) server = await startPostgres(bin);
  });
  beforeEach((context) => context.skip(bin === undefined, 'PostgreSQL is not installed'));
  afterAll(() => server?.stop());

  async function database(): Promise<{ readonly url: string; readonly pool: pg.Pool }> {
    const url = await freshDatabase(server);
    return { url, pool: poolOn(url) };
  }

  const everyCall = (pool: pg.Pool): readonly (() => Promise<unknown>)[] => [
    () => fence(pool, 'jobs', { token: 5 }, () => Promise.resolve()),
    () => install(pool, 'jobs', { token: 5 }),
    () => highest(pool, 'jobs'),
    () => guard(pool, 'pg_class', 'jobs'),
  ];

  describe('the schema', () => {
    it('is made once, by however many at once, and can be made again', async () => {
      const { pool, url } = await database();
      await Promise.all(Array.from({ length: 8 }, () => migrate(pool)));
      await install(pool, 'jobs', { token: 5 });
      await migrate(pool);
      await query(bin ?? '', url, SCHEMA_SQL);
      expect(await highest(pool, 'jobs')).toBe(5);
    });

    it('that is missing is told by every call, with what to do', async () => {
      const { pool } = await database();
      for (const call of everyCall(pool)) {
        const error = await failureOf(call());
        expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_MISSING', retryable: false });
        expect(String(error)).toContain('run migrate(pool)');
      }
      expect(pool.idleCount).toBe(pool.totalCount);
    });

    it('of a later version is told by every call, and not made older', async () => {
      const { pool } = await database();
      await migrateTo(pool, schemaSql(SCHEMA_VERSION + 1));
      for (const call of [...everyCall(pool), () => migrate(pool)]) {
        const error = await failureOf(call());
        expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_VERSION' });
        expect(String(error)).toContain('made by a newer version of @holdfast/fence-postgresql');
      }
      const { rows } = await pool.query('SELECT version FROM holdfast.fence_version');
      expect(rows).toEqual([{ version: SCHEMA_VERSION + 1 }]);
    });

    it('of an earlier version is told with the advice to migrate, which keeps the tokens', async () => {
      const { pool } = await database();
      await migrateTo(pool, schemaSql(SCHEMA_VERSION - 1));
      await pool.query("INSERT INTO holdfast.fence VALUES ('jobs', 5)");
      expect(String(await failureOf(install(pool, 'jobs', { token: 7 })))).toMatch(/run migrate\(pool\)$/);
      await migrate(pool);
      expect(await highest(pool, 'jobs')).toBe(5);
    });

    it('lets a role that may only use it write under tokens, and lower none', async () => {
      const { pool, url } = await database();
      await migrate(pool);
      await pool.query('CREATE TABLE jobs (id int); CREATE ROLE app LOGIN; GRANT INSERT ON jobs TO app');
      const app = poolOn(url.replace('postgres@', 'app@'));
      const refused = await failureOf(install(app, 'jobs', { token: 7 }));
      expect(refused).toMatchObject({ code: 'RESOURCE' });
      expect(String(refused)).toContain('GRANT USAGE ON SCHEMA holdfast');
      await pool.query('GRANT USAGE ON SCHEMA holdfast TO app');
      await fence(app, 'jobs', { token: 7 }, (tx) => tx.query('INSERT INTO jobs VALUES (1)'));
      for (const text of [
        'UPDATE holdfast.fence SET floor = 1',
        'DELETE FROM holdfast.fence',
        'TRUNCATE holdfast.fence',
      ]) {
        expect(await failureOf(app.query(text))).toMatchObject({ code: '42501' });
      }
    });

    it('is not led astray by the search path of the caller', async () => {
      const { pool, url } = await database();
      await migrate(pool);
      await pool.query(`
        CREATE SCHEMA astray;
        CREATE FUNCTION astray.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1/0::bigint';
        CREATE FUNCTION astray.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS 'SELECT 1/0::bigint';
        CREATE FUNCTION astray.pg_advisory_xact_lock_shared(bigint) RETURNS void LANGUAGE sql AS 'SELECT 1/0::bigint';
        CREATE FUNCTION astray.fail(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0::bigint IS NULL';
        CREATE FUNCTION astray.fail(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0::bigint IS NULL';
        CREATE FUNCTION astray.fail(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0::bigint IS NULL';
        CREATE OPERATOR astray.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = astray.fail);
        CREATE OPERATOR astray.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = astray.fail);
        CREATE OPERATOR astray.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = astray.fail);
        CREATE OPERATOR astray.= (LEFTARG = text, RIGHTARG = text, FUNCTION = astray.fail);
        CREATE DOMAIN astray.text AS integer`);
      const led = poolOn(url, { options: '-c search_path=astray,pg_catalog' });
      await fence(led, 'jobs', { token: 7 }, () => Promise.resolve());
      expect(await highest(led, 'jobs')).toBe(7);
      expect(await failureOf(fence(led, 'jobs', { token: 5 }, () => Promise.resolve()))).toMatchObject({ highest: 7 });
      // Such names are in front, or this would prove nothing.
      expect(await failureOf(led.query("SELECT 'a'::pg_catalog.text = 'a'::pg_catalog.text"))).toMatchObject({
        code: '22012',
      });
    });

    it('refuses tokens that are none, from whatever language they come', async () => {
      const { pool } = await database();
      await migrate(pool);
      for (const [scope, token, floor] of [
        ['jobs', 0, 0],
        ['jobs', -1, -1],
        ['jobs', null, null],
        ['jobs', 5, 6],
        ['jobs', '9007199254740992', 1],
        ['', 5, 5],
        [null, 5, 5],
      ]) {
        for (const name of ['fence_install', 'fence_enter']) {
          const call = pool.query(`SELECT holdfast.${name}(1, $1, $2, $3)`, [scope, token, floor]);
          expect(await failureOf(call)).toMatchObject({ code: '22023' });
        }
      }
    });
  });

  describe('a guarded table', () => {
    const ODD = '"Odd ""Name; DROP TABLE jobs"';
    const TEXTS = ['INSERT INTO jobs VALUES (1)', 'UPDATE jobs SET id = 2', 'DELETE FROM jobs', 'TRUNCATE jobs'];

    it('takes writes under a token of its scope, and no others', async () => {
      const { pool } = await database();
      await migrate(pool);
      await pool.query('CREATE TABLE jobs (id int)');
      await guard(pool, 'public.jobs', "jobs'; --");
      for (const text of TEXTS) {
        const error = await failureOf(pool.query(text));
        expect(error).toMatchObject({ code: 'HF002' });
        expect(String(error)).toContain("public.jobs is written under a token of the scope jobs'; -- only");
        await fence(pool, "jobs'; --", { token: 7 }, (tx) => tx.query(text));
        // Over the same connection, whose transaction under a token is over.
        expect(await failureOf(pool.query(text))).toMatchObject({ code: 'HF002' });
        const other = await failureOf(fence(pool, 'other', { token: 7 }, (tx) => tx.query(text)));
        expect(other).toMatchObject({ name: 'FenceError', code: 'TOKEN_REQUIRED' });
        expect(String(other)).toContain('this transaction is under one of "other"');
      }
      expect(pool.totalCount).toBe(1);
    });

    it('can be of any name, and has one scope', async () => {
      const { pool } = await database();
      await migrate(pool);
      await pool.query(`CREATE TABLE jobs (id int); CREATE TABLE ${ODD} (id int)`);
      await guard(pool, ODD, 'jobs');
      await guard(pool, ODD, 'other jobs');
      const insert = `INSERT INTO ${ODD} VALUES (1)`;
      await fence(pool, 'other jobs', { token: 7 }, (tx) => tx.query(insert));
      expect(await failureOf(fence(pool, 'jobs', { token: 7 }, (tx) => tx.query(insert)))).toMatchObject({
        code: 'TOKEN_REQUIRED',
      });
      await pool.query('INSERT INTO jobs VALUES (1)');
    });

    it.each(['nowhere', 'jobs; DROP TABLE jobs', 'a.b.c.d', '"jobs', '', 5, 'a\0b'])(
      'has a name, and is not %j',
      async (table) => {
        const { pool } = await database();
        await migrate(pool);
        await pool.query('CREATE TABLE jobs (id int)');
        expect(await failureOf(guard(pool, table as string, 'jobs'))).toMatchObject({ code: 'INVALID_ARGUMENT' });
        await pool.query('INSERT INTO jobs VALUES (1)');
      },
    );
  });
});
