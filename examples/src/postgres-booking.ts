/**
 * The seats of a show in PostgreSQL, sold by several box offices under one lock. An office reads which seats are left and takes one, in one call
 * of a fence: one that was paused between the two sells nothing when it wakes up.
 *
 *   node examples/dist/postgres-booking.js SHOW [SEATS] [BUYERS]     prints what became of its buyers; start it several times
 *
 * DATABASE_URL names the database, with the rights to create a schema and a table.
 */

import { connect, LockLostError } from '@holdfast/client';
import { fence, FenceError, migrate } from '@holdfast/fence-postgresql';
import pg from 'pg';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [show = '', ...numbers] = process.argv.slice(2);
const [seats = 10, buyers = 20] = numbers.map(Number);
if (!/^[\w-]+$/.test(show) || !(Number.isSafeInteger(seats) && Number.isSafeInteger(buyers) && buyers > 0)) {
  console.error('say a show, of letters, digits, "_" and "-", and perhaps how many seats there are, and buyers');
  process.exit(64);
}

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] });
// Idle connections end with the server; the next call says so.
pool.on('error', () => undefined);
const client = await connect({ servers, label: `box office ${process.pid}`, sessionTimeoutMs: 1_000, resilient: true });
try {
  await migrate(pool);
  await pool.query('CREATE TABLE IF NOT EXISTS seats (show text, seat int, buyer text, token bigint)');
  console.log('ready');
  const outcomes: string[] = [];
  for (let buyer = 1; buyer <= buyers; buyer += 1) outcomes.push(await sell(`${process.pid}-${buyer}`));
  const sold = outcomes.filter((outcome) => outcome === 'sold').length;
  console.log(`sold ${sold} seats, and ${buyers - sold} buyers got none`);
} finally {
  await client.close();
  await pool.end();
}

/** It may be tried again whatever has become of it: who has a seat gets no other one. */
async function sell(buyer: string): Promise<'sold' | 'sold out'> {
  for (;;) {
    try {
      return await client
        .lock(`show/${show}`)
        .withLock((held) => fence(pool, `show/${show}`, held, (tx) => takeSeat(tx, buyer, held.token)));
    } catch (error) {
      if (!(error instanceof LockLostError || error instanceof FenceError)) throw error;
      console.log(`tries again: ${error.message}`);
    }
  }
}

/** What is read stays true until the commit. Nothing in the table keeps a seat from being sold twice: the fence does. */
async function takeSeat(tx: pg.PoolClient, buyer: string, token: number): Promise<'sold' | 'sold out'> {
  const { rows } = await tx.query<{ buyer: string }>('SELECT buyer FROM seats WHERE show = $1', [show]);
  if (rows.some((row) => row.buyer === buyer)) return 'sold';
  if (rows.length >= seats) return 'sold out';
  const seat = [show, rows.length + 1, buyer, token];
  await tx.query('INSERT INTO seats (show, seat, buyer, token) VALUES ($1, $2, $3, $4)', seat);
  return 'sold';
}
