/**
 * A scheduler on PostgreSQL: of several replicas whoever leads runs what is due, and when it dies another one goes on. Each run is read, counted
 * and written in a transaction under the leader's token. A leader that was paused in the midst of one commits nothing when it wakes up.
 *
 *   node examples/dist/postgres-scheduler.js NAME [EVERY_MS]     prints each run, until it is interrupted; start it several times
 *
 * DATABASE_URL names the database, with the rights to create a schema and a table.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, LockLostError, type Term } from '@holdfast/client';
import { fence, FenceError, migrate } from '@holdfast/fence-postgresql';
import pg from 'pg';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [name = '', every = '1000'] = process.argv.slice(2);
const everyMs = Number(every);
if (!/^[\w-]+$/.test(name) || !(Number.isSafeInteger(everyMs) && everyMs > 0)) {
  console.error('say a name of letters, digits, "_" and "-", and perhaps how many milliseconds lie between two runs');
  process.exit(64);
}

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] });
// Idle connections end with the server; the next call says so.
pool.on('error', () => undefined);
const client = await connect({ servers, label: `scheduler ${process.pid}`, sessionTimeoutMs: 1_000, resilient: true });
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal));
try {
  await migrate(pool);
  await pool.query('CREATE TABLE IF NOT EXISTS runs (job text, number int, token bigint)');
  console.log('ready');
  // Over a lost session as well, in a new one.
  const campaign = client.election(`scheduler-${name}`).campaign({ signal: stopping.signal });
  for await (const term of campaign) await lead(term);
} catch (error) {
  if (!stopping.signal.aborted) throw error;
} finally {
  await client.close();
  await pool.end();
}

/** Until the term is over. */
async function lead(term: Term): Promise<void> {
  while (!term.signal.aborted) {
    try {
      const number = await fence(pool, `scheduler-${name}`, term, (tx) => run(tx, term.token));
      console.log(`run ${number} under token ${term.token}`);
    } catch (error) {
      if (!(error instanceof LockLostError || error instanceof FenceError)) throw error;
      console.log(`did not run: ${error.message}`);
    }
    await sleep(everyMs, undefined, { signal: term.signal }).catch(() => undefined);
  }
  console.log(`the term under token ${term.token} is over`);
}

/** What is read stays true until the commit: older leaders write no more, and newer ones wait. */
async function run(tx: pg.PoolClient, token: number): Promise<number> {
  const { rows } = await tx.query<{ last: number }>(
    'SELECT coalesce(max(number), 0) AS last FROM runs WHERE job = $1',
    [name],
  );
  const number = (rows[0]?.last ?? 0) + 1;
  await tx.query('INSERT INTO runs (job, number, token) VALUES ($1, $2, $3)', [name, number, token]);
  return number;
}
