import type mysql from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fence, highest, install, migrate, SCHEMA_SQL } from '../../src/index.ts';
import { migrateTo } from '../../src/schema.ts';
import { SCHEMA_VERSION } from '../../src/sql.ts';
import { failureOf, freshDatabase, poolOn } from '../support/databases.ts';
import { hasMariaDb, startMariaDb, type MariaDb } from '../support/server.ts';

describe.skipIf(!hasMariaDb())('the tables of tokens', () => {
  let server: MariaDb;
  beforeAll(async () => {
    server = await startMariaDb();
  });
  afterAll(() => server?.stop());

  const emptyDatabase = async (): Promise<mysql.Pool> => poolOn(server.config(await freshDatabase(server)));

  const everyCall = (pool: mysql.Pool): readonly (() => Promise<unknown>)[] => [
    () => fence(pool, 'jobs', { token: 5 }, () => Promise.resolve()),
    () => install(pool, 'jobs', { token: 5 }),
    () => highest(pool, 'jobs'),
  ];

  it('are made once, by however many at once, and can be made again', async () => {
    const database = await freshDatabase(server);
    const pool = poolOn(server.config(database));
    await Promise.all(Array.from({ length: 8 }, () => migrate(pool)));
    await install(pool, 'jobs', { token: 5 });
    await migrate(pool);
    await poolOn({ ...server.config(database), multipleStatements: true }).query(SCHEMA_SQL);
    expect(await highest(pool, 'jobs')).toBe(5);
  });

  it('are not written again while transactions have them locked', async () => {
    const pool = await emptyDatabase();
    await migrate(pool);
    await fence(pool, 'jobs', { token: 5 }, () => migrate(pool));
  });

  it('that are missing are told by every call, with what to do', async () => {
    const pool = await emptyDatabase();
    for (const call of everyCall(pool)) {
      const error = await failureOf(call());
      expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_MISSING', retryable: false });
      expect(String(error)).toContain('run migrate(pool)');
    }
    await migrate(pool);
    await pool.query('DELETE FROM holdfast_fence_version');
    for (const call of everyCall(pool)) expect(await failureOf(call())).toMatchObject({ code: 'SCHEMA_MISSING' });
  });

  it('need a database', async () => {
    const pool = poolOn(server.config());
    for (const call of [...everyCall(pool), () => migrate(pool)]) {
      const error = await failureOf(call());
      expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_MISSING' });
      expect(String(error)).toContain('give createPool a database');
    }
  });

  it('of a later version are told by every call, and not made older', async () => {
    const pool = await emptyDatabase();
    await migrateTo(pool, SCHEMA_VERSION + 1);
    for (const call of [...everyCall(pool), () => migrate(pool)]) {
      const error = await failureOf(call());
      expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_VERSION' });
      expect(String(error)).toContain('made by a newer version');
    }
    const [rows] = await pool.query('SELECT version FROM holdfast_fence_version');
    expect(rows).toEqual([{ version: SCHEMA_VERSION + 1 }]);
  });

  it('of an earlier version are told with the advice to migrate, which keeps the tokens', async () => {
    const pool = await emptyDatabase();
    await migrateTo(pool, SCHEMA_VERSION - 1);
    await pool.query("INSERT INTO holdfast_fence (scope, floor) VALUES ('jobs', 5)");
    expect(String(await failureOf(install(pool, 'jobs', { token: 7 })))).toMatch(/run migrate\(pool\)$/);
    await migrate(pool);
    expect(await highest(pool, 'jobs')).toBe(5);
  });

  it('with other columns are told', async () => {
    const pool = await emptyDatabase();
    await pool.query('CREATE TABLE holdfast_fence (resource INT)');
    await migrate(pool);
    expect(await failureOf(install(pool, 'jobs', { token: 7 }))).toMatchObject({ code: 'SCHEMA_VERSION' });
  });

  it('let a user who may only read and write them work, and no more', async () => {
    const database = await freshDatabase(server);
    const pool = poolOn(server.config(database));
    await migrate(pool);
    await pool.query('CREATE TABLE jobs (id INT) ENGINE = InnoDB');
    await pool.query("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'");
    await pool.query(`GRANT INSERT ON ${database}.jobs TO app@'127.0.0.1'`);
    const app = poolOn({ ...server.config(database), user: 'app', password: 'secret' });
    const refused = await failureOf(install(app, 'jobs', { token: 7 }));
    expect(refused).toMatchObject({ code: 'RESOURCE' });
    expect(String(refused)).toContain('GRANT SELECT, INSERT, UPDATE ON holdfast_fence');
    await pool.query(`GRANT SELECT, INSERT, UPDATE ON ${database}.holdfast_fence TO app@'127.0.0.1'`);
    await pool.query(`GRANT SELECT, UPDATE ON ${database}.holdfast_fence_version TO app@'127.0.0.1'`);
    await fence(app, 'jobs', { token: 7 }, (tx) => tx.query('INSERT INTO jobs VALUES (1)'));
    expect(await failureOf(app.query('DELETE FROM holdfast_fence'))).toMatchObject({ errno: 1142 });
  });

  it('refuse floors that are none, from whatever language they come', async () => {
    const pool = await emptyDatabase();
    await migrate(pool);
    for (const floor of ['0', '-1', '9007199254740992', 'NULL']) {
      expect(
        await failureOf(pool.query(`INSERT INTO holdfast_fence (scope, floor) VALUES ('a', ${floor})`)),
      ).toBeInstanceOf(Error);
    }
  });

  it('keep names apart that a collation would take for one', async () => {
    const pool = await emptyDatabase();
    await migrate(pool);
    const scopes = ['Jobs', 'jobs', 'jobs ', 'jöbs', 'JOBS'];
    for (const [place, scope] of scopes.entries()) await install(pool, scope, { token: 10 - place });
    expect(await Promise.all(scopes.map((scope) => highest(pool, scope)))).toEqual([10, 9, 8, 7, 6]);
  });
});
