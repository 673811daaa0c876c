/** One UPDATE in a transaction, on Debian's MariaDB as it is set by default: a commit is synced before its answer. */

import { join } from 'node:path';

import { hasMariaDb, prepareMariaDb } from '@holdfast/database-servers';
import { fence, migrate } from '@holdfast/fence-mysql';
import mysql from 'mysql2/promise';

import { ServerProcess } from '../../systems/server-process.ts';
import { holders, NotInstalledError, type Pair, type PairSource } from '../pair.ts';
import { Trips } from '../trips.ts';

const READY_TIMEOUT_MS = 60_000;
const UPDATE = 'UPDATE accounts SET amount = amount + 1 WHERE id = ?';

export const mariaDb: PairSource = {
  settings:
    'defaults (innodb_flush_log_at_trx_commit 1), mysql2; each client has a connection, a row and a scope of its own',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  if (!hasMariaDb()) throw new NotInstalledError('MariaDB', 'mariadb-server');
  const { command, args, port, user } = await prepareMariaDb();
  const server = new ServerProcess({
    name: 'mariadb',
    command,
    args,
    inside: user.inside,
    directory: user.directory,
    logFile: join(directory, 'mariadb.log'),
  });
  server.launch();
  const config = { host: '127.0.0.1', port, user: 'root' };
  let pool: mysql.Pool | undefined;
  const close = async (): Promise<void> => {
    await pool?.end().catch(() => undefined);
    await server.stop();
    user.remove();
  };
  try {
    await server.waitUntil(() => answers(config), READY_TIMEOUT_MS);
    await prepare(config, clients);
    pool = mysql.createPool({ ...config, database: 'bench', connectionLimit: clients });
    await migrate(pool);
    return { ...writesOn(pool, clients), pids: () => [server.pid], close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepare(config: mysql.ConnectionOptions, clients: number): Promise<void> {
  const connection = await mysql.createConnection(config);
  await connection.query('CREATE DATABASE bench');
  await connection.query('CREATE TABLE bench.accounts (id INT PRIMARY KEY, amount BIGINT NOT NULL) ENGINE = InnoDB');
  const rows = Array.from({ length: clients }, (_, id) => [id, 0]);
  await connection.query('INSERT INTO bench.accounts (id, amount) VALUES ?', [rows]);
  await connection.end();
}

function writesOn(pool: mysql.Pool, clients: number): Pick<Pair, 'without' | 'through' | 'trips'> {
  const trips = new Trips();
  const holderOf = holders(clients);
  pool.on('acquire', (connection) => count(connection, trips));
  return {
    trips,
    async without(client) {
      const connection = await pool.getConnection();
      await connection.query('START TRANSACTION');
      await connection.query(UPDATE, [client]);
      await connection.query('COMMIT');
      connection.release();
    },
    through: (client) => fence(pool, `jobs-${client}`, holderOf(client), (tx) => tx.query(UPDATE, [client])),
  };
}

const counting = new WeakSet<object>();

/** What a query is to the driver beneath its promises. */
interface Sent {
  once(event: 'end', listener: () => void): unknown;
}

/** The driver sends no statement before the one in front of it is answered. */
function count(connection: object, trips: Trips): void {
  if (counting.has(connection)) return;
  counting.add(connection);
  const { query } = connection as { readonly query: (...args: readonly unknown[]) => Sent };
  Object.assign(connection, {
    query: (...args: readonly unknown[]): Sent => {
      const end = trips.begin();
      const sent = query.apply(connection, [...args]);
      sent.once('end', end);
      return sent;
    },
  });
}

async function answers(config: mysql.ConnectionOptions): Promise<boolean> {
  try {
    const connection = await mysql.createConnection(config);
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
