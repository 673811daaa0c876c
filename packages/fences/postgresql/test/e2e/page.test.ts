import { clientOf, linesOf, sqlOf } from '@holdfast/fence/test/page';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fence, highest, migrate, StaleTokenError } from '../../src/index.ts';
import { freshDatabase, poolOn } from '../support/databases.ts';
import { postgresPrograms, startPostgres, type Postgres } from '../support/server.ts';

const bin = postgresPrograms();
const PAGE = 'docs/fences.md';

describe.skipIf(bin === undefined)(`${PAGE} › on PostgreSQL`, () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres(bin ?? '');
  });
  afterAll(() => server?.stop());

  async function jobs(): Promise<pg.Pool> {
    const pool = poolOn(await freshDatabase(server));
    await pool.query(
      "CREATE TABLE jobs (id int PRIMARY KEY, state text); INSERT INTO jobs VALUES (42, 'ready'), (43, 'ready')",
    );
    return pool;
  }

  const states = async (pool: pg.Pool): Promise<unknown[]> =>
    (await pool.query<{ state: string }>('SELECT state FROM jobs ORDER BY id')).rows.map(({ state }) => state);

  it('its lines do what they say', async () => {
    const pool = await jobs();
    const given = (token: number): Readonly<Record<string, unknown>> => ({
      fence,
      migrate,
      // A constructor may give another object.
      pg: {
        Pool: function Given() {
          return pool;
        },
      },
      connect: async () => await Promise.resolve(clientOf(token)),
      process: { env: {} },
    });
    await linesOf(PAGE, given(7))();
    await expect(linesOf(PAGE, given(5))()).rejects.toBeInstanceOf(StaleTokenError);
    expect([await states(pool), await highest(pool, 'jobs')]).toEqual([['running', 'ready'], 7]);
  });

  it('its SQL does what it says, and is refused where a newer holder has been', async () => {
    const pool = await jobs();
    await migrate(pool);
    const client = await pool.connect();
    try {
      const [installed, , entered, , , told] = (await client.query(sqlOf(PAGE))) as unknown as pg.QueryResult<{
        fence_highest: string;
      }>[];
      expect([installed?.command, entered?.command, Number(told?.rows[0]?.fence_highest)]).toEqual([
        'SELECT',
        'SELECT',
        41,
      ]);
      expect(await states(pool)).toEqual(['running', 'ready']);
      expect(await highest(pool, 'jobs')).toBe(0); // its last line
      await client.query("SELECT holdfast.fence_install(1, 'jobs', 57, 57)");
      await expect(client.query(sqlOf(PAGE))).rejects.toMatchObject({ code: 'HF001', detail: '57' });
    } finally {
      client.release(true);
    }
  });
});
