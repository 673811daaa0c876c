import { expect, it } from 'vitest';
import { fence, highest, migrate, StaleTokenError } from '../../src/index.ts';
import { failureOf, freshDatabase, poolOn } from '../support/databases.ts';
import { clientOf, linesOf } from '@holdfast/fence/test/page';
import { hasMariaDb, startMariaDb } from '../support/server.ts';

it.skipIf(!hasMariaDb())('docs/fences-mysql.md › its lines do what they say', async () => {
  const server = await startMariaDb();
  try {
    const pool = poolOn(server.config(await freshDatabase(server)));
    await pool.query('CREATE TABLE jobs (id INT PRIMARY KEY, state VARCHAR(10)) ENGINE = InnoDB');
    await pool.query("INSERT INTO jobs VALUES (1, 'ready'), (2, 'ready')");
    const mysql = { createPool: () => pool };
    const lines = (token: number) =>
      linesOf('docs/fences-mysql.md', { fence, migrate, mysql, client: clientOf(token) });
    await lines(7)();
    expect(await failureOf(lines(5)())).toBeInstanceOf(StaleTokenError);
    const [rows] = await pool.query('SELECT state FROM jobs ORDER BY id');
    expect(rows).toEqual([{ state: 'running' }, { state: 'ready' }]);
    expect(await highest(pool, 'jobs')).toBe(7);
  } finally {
    await server.stop();
  }
});
