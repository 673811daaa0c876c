/** One UPDATE in a transaction, on Debian's PostgreSQL as it is set by default: a commit is synced before its answer. */

import { join } from 'node:path';

import { postgresPrograms, preparePostgres } from '@holdfast/database-servers';
import { fence, migrate } from '@holdfast/fence-postgresql';
import pg from 'pg';

import { familyOf } from '../../machine/processor-time.ts';
import { ServerProcess } from '../../systems/server-process.ts';
import { holders, NotInstalledError, type Pair, type PairSource } from '../pair.ts';
import { Trips } from '../trips.ts';

const READY_TIMEOUT_MS = 60_000;
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';
const UPDATE = 'UPDATE accounts SET amount = amount + 1 WHERE id = $1';

export const postgresql: PairSource = {
  settings:
    'defaults (fsync and synchronous_commit on), pg; each client has a connection, a row and a scope of its own',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const bin = postgresPrograms();
  if (bin === undefined) throw new NotInstalledError('PostgreSQL', 'postgresql');
  const { command, args, port, user } = await preparePostgres(bin);
  const server = new ServerProcess({
    name: 'postgresql',
    command,
    args,
    inside: user.inside,
    directory: user.directory,
    logFile: join(directory, 'postgresql.log'),
  });
  server.launch();
  const pool = new pg.Pool({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`, max: clients });
  pool.on('error', () => undefined);
  const close = async (): Promise<void> => {
    await pool.end().catch(() => undefined);
    await server.stop();
    user.remove();
  };
  try {
    await server.waitUntil(() => answers(pool), READY_TIMEOUT_MS);
    await pool.query('CREATE TABLE accounts (id integer PRIMARY KEY, amount bigint NOT NULL)');
    await pool.query('INSERT INTO accounts SELECT id, 0 FROM generate_series(0, $1::integer - 1) AS id', [clients]);
    await migrate(pool);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...writesOn(pool, clients), pids: () => familyOf(server.pid), close };
}

function writesOn(pool: pg.Pool, clients: number): Pick<Pair, 'without' | 'through' | 'trips'> {
  const trips = new Trips();
  const holderOf = holders(clients);
  pool.on('acquire', (client) => count(client, trips));
  return {
    trips,
    async without(client) {
      const connection = await pool.connect();
      await connection.query(BEGIN);
      await connection.query(UPDATE, [client]);
      await connection.query('COMMIT');
      connection.release();
    },
    through: (client) => fence(pool, `jobs-${client}`, holderOf(client), (tx) => tx.query(UPDATE, [client])),
  };
}

const counting = new WeakSet<pg.PoolClient>();

/** The driver sends no statement before the one in front of it is answered. */
function count(client: pg.PoolClient, trips: Trips): void {
  if (counting.has(client)) return;
  counting.add(client);
  const query = client.query.bind(client) as (...args: readonly unknown[]) => unknown;
  Object.assign(client, {
    query: (...args: readonly unknown[]) => trips.during(async () => await query(...args)),
  });
}

async function answers(pool: pg.Pool): Promise<boolean> {
  return await pool.query('SELECT 1').then(
    () => true,
    () => false,
  );
}
